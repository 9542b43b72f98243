// Lets dpaudit draw from a mechanism in Java: version 1 of the protocol in docs/programs.md.
//
//   Dpaudit.serve(true, (records, random) -> Dpaudit.numbers(records).length + random.nextGaussian());
//
// `records` is the dataset as text of JSON. `random` follows from the seed of dpaudit, so that an
// audit can be repeated; a mechanism that draws its own randomness says false. What is returned is
// sent as it prints itself: a number, or text that is JSON. Nothing else may be written to
// standard output: System.out is sent to standard error.
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.regex.*;

public final class Dpaudit {
    public interface Mechanism {
        Object draw(String records, Random random) throws Exception;
    }

    public static void serve(boolean seeded, Mechanism mechanism) throws IOException {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, "UTF-8");
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Map<String, String> datasets = new HashMap<>();
        for (String line; (line = in.readLine()) != null; out.flush()) {
            String dataset = value(line, "dataset");
            int records = line.indexOf("\"records\": ");
            if (line.startsWith("{\"dpaudit\"")) out.print("{\"dpaudit\": 1, \"seeded\": " + seeded + "}\n");
            else if (records > 0) datasets.put(dataset, line.substring(records + 11, line.length() - 1));
            else out.print(answer(out, line, seeded, mechanism, datasets.get(dataset)));
        }
    }

    private static String answer(PrintStream out, String line, boolean seeded, Mechanism mechanism, String records) {
        Random random = seeded ? new Random(Long.parseLong(value(line, "seed"))) : new Random();
        StringBuilder text = new StringBuilder();
        try {
            for (long left = Long.parseLong(value(line, "draw")); left > 0; left--) {
                text.append(mechanism.draw(records, random)).append('\n');
                if (text.length() > 1 << 14) out.print(text); // is read while we draw
                if (text.length() > 1 << 14) text.setLength(0);
            }
        } catch (Exception error) {
            return "{\"error\": \"" + error.toString().replaceAll("[\\\\\"\\p{Cntrl}]", " ") + "\"}\n";
        }
        return text.append("{\"done\": ").append(value(line, "request")).append("}\n").toString();
    }

    /** The value of a member that is a number or a word. */
    private static String value(String line, String name) {
        Matcher found = Pattern.compile("\"" + name + "\": \"?(\\w+)").matcher(line);
        return found.find() ? found.group(1) : null;
    }

    /** All numbers of a dataset, in their order, but none inside names of columns and texts. */
    public static double[] numbers(String records) {
        String plain = records.replaceAll("\"(?:[^\"\\\\]++|\\\\.)*+\"", "");
        return Pattern.compile("-?\\d+(\\.\\d+)?([eE][+-]?\\d+)?").matcher(plain).results()
            .mapToDouble(one -> Double.parseDouble(one.group())).toArray();
    }
}
