fn main() {
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path).unwrap();
        let program = match finishline_fin::analyse(&path, &bytes) { Ok(p) => p, Err(_) => { println!("{path}: error"); continue; } };
        let options = finishline_poly::Options { timeout: std::time::Duration::from_secs(10) };
        let t = std::time::Instant::now();
        let answer = finishline_poly::prove(&program, &options);
        println!("== {path}: {} in {:?}", answer.proof.verdict, t.elapsed());
        for k in &answer.proof.kernels {
            println!("  {} {}:{} {} {} accesses {} pairs {:?}", k.construct, k.place.line, k.place.column, k.verdict, k.accesses, k.pairs, k.time);
            for r in &k.races {
                println!("    race {} [{}] {}:{} {:?} / {}:{} {:?} witness {:?}", r.location, r.condition, r.first.place.line, r.first.place.column, r.first.instance, r.second.place.line, r.second.place.column, r.second.instance, r.witness.as_ref().map(|w| (&w.arguments, &w.location, &w.first, &w.second)));
            }
            for r in &k.reasons { println!("    reason {:?} {}:{} `{}` {}", r.kind, r.place.line, r.place.column, r.place.text, r.concerns); }
        }
    }
}
