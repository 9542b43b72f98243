// A count with Laplace noise of scale 1. Try it: printf '1\n0\n' > a.csv; printf '1\n' > b.csv
//   javac Noiser.java
//   dpaudit audit --command 'java Noiser' --dataset a.csv --neighbour b.csv --epsilon 1
import java.util.Random;

public class Noiser {
    static double laplace(double scale, Random random) {
        double u = random.nextDouble() - 0.5;
        return -scale * Math.signum(u) * Math.log1p(-2 * Math.abs(u));
    }

    public static void main(String[] given) throws Exception {
        double scale = given.length > 0 ? Double.parseDouble(given[0]) : 1;
        Dpaudit.serve(
            true, (records, random) -> Dpaudit.numbers(records).length + laplace(scale, random));
    }
}
