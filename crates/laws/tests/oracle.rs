//! Brute force gives the known numbers of classes: Mazurkiewicz, modulo observers, reads-from.

use std::path::Path;

use mazurka_litmus::{Source, compile, parse};
use mazurka_oracle::{Budget, truth};

#[test]
fn numbers_of_classes() {
    // program, n, Mazurkiewicz, observers, reads-from. lastwrite n!, n, n; floating_read (n+1)!, n*2^(n-1)+1,
    // n+1; lock (2n)!/(n+1)!, n!; selective n!, 1; not_selective n!, n!; opt_lock as Nidhugg 0.4 counts.
    for (program, n, mazurkiewicz, observers, reads_from) in [
        ("lastwrite", 2, 2, 2, 2),
        ("lastwrite", 3, 6, 3, 3),
        ("lastwrite", 4, 24, 4, 4),
        ("floating_read", 2, 6, 5, 3),
        ("floating_read", 3, 24, 13, 4),
        ("opt_lock", 1, 10, 10, 7),
        ("opt_lock", 2, 42, 26, 19),
        ("lock", 2, 4, 2, 2),
        ("lock", 3, 30, 6, 6),
        ("lock", 4, 336, 24, 24),
        ("selective", 2, 2, 1, 1),
        ("selective", 3, 6, 1, 1),
        ("not_selective", 2, 2, 2, 2),
        ("not_selective", 3, 6, 6, 6),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../bench/litmus/{program}.maz"));
        let source =
            Source { name: program.into(), text: std::fs::read_to_string(path).expect("in the checkout") };
        let ast = parse(&source).expect("it parses");
        let compiled = compile(&ast, &source, &[("n".into(), n)]).expect("it compiles");
        let truth = truth(&compiled, Budget { executions: 5_000_000, steps: 100 }).expect("small enough");
        assert!(truth.inconsistent.is_empty(), "{program}({n})");
        assert_eq!(truth.mazurkiewicz.len(), mazurkiewicz, "{program}({n})");
        assert_eq!(truth.observers.len(), observers, "{program}({n}) modulo observers");
        assert_eq!(truth.reads_from.len(), reads_from, "{program}({n}) reads-from");
    }
}
