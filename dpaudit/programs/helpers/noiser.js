// A count with Laplace noise of scale 1. Try it: printf '1\n0\n' > a.csv; printf '1\n' > b.csv
//   dpaudit audit --command 'node noiser.js' --dataset a.csv --neighbour b.csv --epsilon 1
const { serve } = require("./dpaudit.js");

const scale = Number(process.argv[2] ?? 1);

function laplace(random) {
  const u = random() - 0.5;
  return -scale * Math.sign(u) * Math.log1p(-2 * Math.abs(u));
}

serve((records, random) => records.length + laplace(random), { seeded: true });
