// A count with Laplace noise of scale 1. Try it: printf '1\n0\n' > a.csv; printf '1\n' > b.csv
//   rustc -O noiser.rs
//   dpaudit audit --command ./noiser --dataset a.csv --neighbour b.csv --epsilon 1
mod dpaudit;

fn laplace(scale: f64, random: &mut dpaudit::Random) -> f64 {
    let u = random.next() - 0.5;
    -scale * u.signum() * (-2.0 * u.abs()).ln_1p()
}

fn main() {
    let scale = std::env::args().nth(1).map_or(1.0, |one| one.parse().unwrap());
    dpaudit::serve(true, |records, random| {
        (dpaudit::numbers(records).len() as f64 + laplace(scale, random)).to_string()
    });
}
