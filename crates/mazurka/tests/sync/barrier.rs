use mazurka::sync::{Arc, Barrier};
use mazurka::thread;

use super::support::{expect, fails, passes};

/// Lets so many threads pass a barrier so often; gives who led each time.
fn rounds(threads: usize, rounds: usize) -> Vec<usize> {
    let barrier = Arc::new(Barrier::new(threads));
    let handles: Vec<_> = (0..threads)
        .map(|_| {
            let barrier = barrier.clone();
            thread::spawn(move || (0..rounds).map(|_| barrier.wait().is_leader()).collect::<Vec<_>>())
        })
        .collect();
    let led: Vec<Vec<bool>> = handles.into_iter().map(|handle| handle.join().unwrap()).collect();
    let leaders = |round: usize| (0..threads).filter(|&thread| led[thread][round]).collect::<Vec<_>>();
    (0..rounds)
        .map(|round| {
            assert_eq!(leaders(round).len(), 1);
            leaders(round)[0]
        })
        .collect()
}

#[test]
fn the_last_one_leads() {
    expect(1, [vec![0]], || rounds(1, 1));
    expect(2, [vec![0], vec![1]], || rounds(2, 1));
    // Who comes in which order counts.
    expect(6, [vec![0], vec![1], vec![2]], || rounds(3, 1));
}

#[test]
fn a_barrier_is_used_again() {
    expect(4, [vec![0, 0], vec![0, 1], vec![1, 0], vec![1, 1]], || rounds(2, 2));
    expect(
        8,
        [0, 1].into_iter().flat_map(|a| [vec![a, 0, 0], vec![a, 0, 1], vec![a, 1, 0], vec![a, 1, 1]]),
        || rounds(2, 3),
    );
}

#[test]
fn a_barrier_for_nobody_lets_everybody_pass() {
    passes(1, || {
        let barrier = Barrier::new(0);
        assert!(barrier.wait().is_leader() && barrier.wait().is_leader());
    });
}

#[test]
fn too_few_wait_forever() {
    fails(&["deadlock", "2 of 3 are there"], || {
        let barrier = Arc::new(Barrier::new(3));
        let other = barrier.clone();
        thread::spawn(move || other.wait());
        barrier.wait();
    });
}
