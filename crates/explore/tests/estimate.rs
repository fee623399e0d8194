//! Estimates of how many executions there are: right in the mean, exact where all were run, and silent where
//! nothing can be told.

mod toy;

use mazurka_explore::{Estimate, Options, Order, estimate};
use toy::{Op::*, Toy};

fn seeded(program: &Toy, budget: u64, seed: u64) -> Estimate {
    estimate(program, budget, &Options { order: Order::Shuffled(seed), ..Options::default() })
}

#[test]
fn where_all_were_run_it_is_their_number() {
    let updates = Toy(vec![vec![Update(0)]; 4]);
    let choices = Toy(vec![vec![Choose(3), Update(0)], vec![Update(0), Read(1)], vec![Write(1)]]);
    let locks = Toy(vec![vec![Lock(0), Update(0), Unlock(0)]; 4]);
    for (program, total) in [(updates, 24.0), (choices, 12.0), (locks, 24.0)] {
        for seed in 0..10 {
            let found = seeded(&program, 10_000, seed);
            assert_eq!((found.is_exact, found.total()), (true, Some(total)), "{program:?}, seed {seed}");
        }
    }
}

/// What narrow samples of many orders give is, in the mean, the number: 6! and (2n)!/n!n! of n = 6.
#[test]
fn samples_are_right_in_the_mean() {
    let many = Toy(vec![vec![Update(0)]; 6]);
    let long = Toy(vec![vec![Update(0); 6]; 2]);
    for (program, total, off) in [(many, 720.0, 0.05), (long, 924.0, 0.05)] {
        let mut samples = Vec::new();
        for seed in 0..200 {
            let found = seeded(&program, 5_000, seed);
            match found.is_exact {
                // A wide sample of few orders may be all there is: then it has to be right by itself.
                true => assert_eq!(found.total(), Some(total), "{found:?}"),
                false => assert!(!found.samples.is_empty(), "{found:?}"),
            }
            samples.extend(found.samples);
        }
        let mean = samples.iter().sum::<f64>() / samples.len() as f64;
        assert!((mean / total - 1.0).abs() < off, "{mean} for {total}");
    }
}

#[test]
fn what_can_not_be_told_is_not() {
    let large = Toy(vec![vec![Read(0), Write(0), Write(1)]; 8]);
    let none = seeded(&large, 10, 1);
    assert_eq!((none.total(), none.samples.len(), none.executions), (None, 0, 10));
    let apart = Estimate { samples: vec![10.0, 1000.0], width: 16, ..Estimate::default() };
    assert_eq!((apart.total(), apart.range()), (None, Some((10.0, 1000.0))));
}

#[test]
fn the_same_budget_has_the_same_estimate() {
    let program = Toy(vec![vec![Update(0); 3]; 4]);
    assert_eq!(seeded(&program, 5_000, 7), seeded(&program, 5_000, 7));
}
