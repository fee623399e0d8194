//! Random programs with channels, mailboxes and choices, compared with brute force.

use std::time::Duration;

use mazurka::mailbox::{Address, Mailbox, mailbox};
use mazurka::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use mazurka::thread;

/// What a thread does. The number is that of a channel.
#[derive(Clone, Copy, Debug)]
enum Act {
    Send(usize),
    TrySend(usize),
    Clone(usize),
    DropSender(usize),
    Recv(usize),
    TryRecv(usize),
    RecvTimeout(usize),
    DropReceiver(usize),
    Post,
    Take,
    TakeOdd,
    TryTake,
    TryTakeOdd,
    Choose,
    Assume,
}

#[derive(Clone, Debug)]
struct Plan {
    /// The bound of each channel; none for one without.
    bounds: Vec<Option<usize>>,
    /// Which thread has the receiver of each channel, and which the mailbox.
    owners: Vec<usize>,
    mailbox: usize,
    /// What each thread does; the first is that of the closure.
    acts: Vec<Vec<Act>>,
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as usize % n
    }
}

fn plan(random: &mut Random) -> Plan {
    let channels = 1 + random.below(2);
    let threads = 2 + random.below(2);
    let bounds =
        (0..channels).map(|_| [None, None, None, Some(0), Some(1), Some(2)][random.below(6)]).collect();
    let owners: Vec<usize> = (0..channels).map(|_| random.below(threads)).collect();
    let mailbox = random.below(threads);
    let mut acts = Vec::new();
    for thread in 0..threads {
        let count = 1 + random.below(3);
        acts.push((0..count).map(|_| act(random, thread, &owners, mailbox)).collect());
    }
    Plan { bounds, owners, mailbox, acts }
}

fn act(random: &mut Random, thread: usize, owners: &[usize], mailbox: usize) -> Act {
    let channel = random.below(owners.len());
    loop {
        return match random.below(20) {
            0..=2 => Act::Send(channel),
            3..=4 => Act::TrySend(channel),
            5 => Act::Clone(channel),
            6..=7 => Act::DropSender(channel),
            8..=9 if owners[channel] == thread => Act::Recv(channel),
            10..=11 if owners[channel] == thread => Act::TryRecv(channel),
            12 if owners[channel] == thread => Act::RecvTimeout(channel),
            13 if owners[channel] == thread => Act::DropReceiver(channel),
            14 => Act::Post,
            15 if mailbox == thread => Act::Take,
            16 if mailbox == thread => Act::TakeOdd,
            17 if mailbox == thread => Act::TryTake,
            18 if mailbox == thread => Act::TryTakeOdd,
            19 => [Act::Choose, Act::Assume][usize::from(random.below(4) == 0)],
            _ => continue,
        };
    }
}

#[derive(Clone)]
enum To {
    Unbounded(Sender<usize>),
    Bounded(SyncSender<usize>),
}

/// What a thread has.
struct Hands {
    to: Vec<Vec<To>>,
    from: Vec<Option<Receiver<usize>>>,
    address: Option<Address<usize>>,
    mailbox: Option<Mailbox<usize>>,
    log: Vec<String>,
    next: usize,
}

impl Hands {
    fn run(mut self, acts: &[Act]) -> Vec<String> {
        for &act in acts {
            self.next += 1;
            let said = self.act(act);
            self.log.push(said);
        }
        std::mem::take(&mut self.log)
    }

    fn act(&mut self, act: Act) -> String {
        let message = self.next;
        match act {
            Act::Send(c) => match self.to[c].last() {
                Some(To::Unbounded(to)) => format!("{:?}", to.send(message)),
                Some(To::Bounded(to)) => format!("{:?}", to.send(message)),
                None => String::new(),
            },
            Act::TrySend(c) => match self.to[c].last() {
                Some(To::Unbounded(to)) => format!("{:?}", to.send(message)),
                Some(To::Bounded(to)) => match to.try_send(message) {
                    Ok(()) => "sent".to_owned(),
                    Err(TrySendError::Full(_)) => "full".to_owned(),
                    Err(TrySendError::Disconnected(_)) => "gone".to_owned(),
                },
                None => String::new(),
            },
            Act::Clone(c) => {
                if let Some(to) = self.to[c].last().cloned() {
                    self.to[c].insert(0, to);
                }
                String::new()
            }
            Act::DropSender(c) => {
                self.to[c].pop();
                String::new()
            }
            Act::Recv(c) => format!("{:?}", self.from[c].as_ref().map(Receiver::recv)),
            Act::TryRecv(c) => format!("{:?}", self.from[c].as_ref().map(Receiver::try_recv)),
            Act::RecvTimeout(c) => {
                format!("{:?}", self.from[c].as_ref().map(|from| from.recv_timeout(Duration::ZERO)))
            }
            Act::DropReceiver(c) => {
                self.from[c] = None;
                String::new()
            }
            Act::Post => {
                self.address.iter().for_each(|address| address.send(message));
                String::new()
            }
            Act::Take => format!("{:?}", self.mailbox.as_ref().map(Mailbox::receive)),
            Act::TakeOdd => {
                format!("{:?}", self.mailbox.as_ref().map(|from| from.receive_match(|n| n % 2 == 1)))
            }
            Act::TryTake => format!("{:?}", self.mailbox.as_ref().map(Mailbox::try_receive)),
            Act::TryTakeOdd => {
                format!("{:?}", self.mailbox.as_ref().map(|from| from.try_receive_match(|n| n % 2 == 1)))
            }
            Act::Choose => format!("{}", mazurka::choose(0..2)),
            Act::Assume => {
                mazurka::assume(mazurka::choose(0..2) == 1);
                String::new()
            }
        }
    }
}

/// Runs a plan; what all threads said is the outcome.
fn run(plan: &Plan) -> String {
    let threads = plan.acts.len();
    let posts = plan.acts.iter().flatten().any(|act| matches!(act, Act::Post));
    let (address, mut mailbox) = posts.then(mailbox).unzip();
    let channels: Vec<(To, Receiver<usize>)> = plan
        .bounds
        .iter()
        .map(|bound| match bound {
            None => {
                let (to, from) = channel();
                (To::Unbounded(to), from)
            }
            Some(bound) => {
                let (to, from) = sync_channel(*bound);
                (To::Bounded(to), from)
            }
        })
        .collect();
    let mut hands: Vec<Hands> = (0..threads)
        .map(|thread| Hands {
            to: channels.iter().map(|(to, _)| vec![to.clone()]).collect(),
            from: channels.iter().map(|_| None).collect(),
            address: address.clone(),
            mailbox: (plan.mailbox == thread).then(|| mailbox.take()).flatten(),
            log: Vec::new(),
            next: thread * 10,
        })
        .collect();
    for (number, (_, from)) in channels.into_iter().enumerate() {
        hands[plan.owners[number]].from[number] = Some(from);
    }
    let others = hands.split_off(1);
    let handles: Vec<_> = others
        .into_iter()
        .zip(&plan.acts[1..])
        .map(|(hands, acts)| {
            let acts = acts.clone();
            thread::spawn(move || hands.run(&acts))
        })
        .collect();
    let mut logs: Vec<Vec<String>> = hands.into_iter().map(|hands| hands.run(&plan.acts[0])).collect();
    logs.extend(handles.into_iter().map(|handle| handle.join().unwrap()));
    format!("{logs:?}")
}

#[test]
fn random_programs() {
    let number = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (first, programs) = (number("FUZZ_SEED", 1), number("FUZZ_PROGRAMS", 60));
    let limit = number("FUZZ_LIMIT", 3_000);
    let mut compared = 0;
    for seed in first..first + programs {
        let mut random = Random(seed.wrapping_mul(0x2545_F491_4F6C_DD1D) | 1);
        let plan = plan(&mut random);
        let what = format!("seed {seed}: {plan:?}");
        let result = std::panic::catch_unwind(|| {
            let plan = plan.clone();
            crate::brute::agree(move || run(&plan), limit)
        });
        match result {
            Ok(agreed) => compared += u64::from(agreed),
            Err(_) => panic!("{what}"),
        }
    }
    eprintln!("{compared} of {programs}");
    assert!(compared * 4 > programs, "only {compared} of {programs} were small enough");
}
