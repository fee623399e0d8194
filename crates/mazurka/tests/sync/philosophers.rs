use mazurka::sync::{Arc, Mutex};
use mazurka::thread;

use super::support::{fails, passes};

/// So many philosophers eat once each; the last one may be left-handed.
fn dinner(philosophers: usize, left_handed: bool) {
    let forks: Vec<_> = (0..philosophers).map(|_| Arc::new(Mutex::new(()))).collect();
    for seat in 0..philosophers {
        let mut pair = [forks[seat].clone(), forks[(seat + 1) % philosophers].clone()];
        if left_handed && seat == philosophers - 1 {
            pair.reverse();
        }
        thread::spawn(move || {
            let _first = pair[0].lock().unwrap();
            let _second = pair[1].lock().unwrap();
        });
    }
}

#[test]
fn philosophers_starve() {
    for philosophers in [2, 3] {
        fails(&["deadlock", "held by"], move || dinner(philosophers, false));
    }
}

#[test]
fn a_left_handed_philosopher_saves_the_others() {
    // Each fork is used by one neighbour first: 2^n ways, but for the two in which everybody goes before the
    // next.
    for (philosophers, executions) in [(2, 2), (3, 6), (4, 14)] {
        passes(executions, move || dinner(philosophers, true));
    }
}
