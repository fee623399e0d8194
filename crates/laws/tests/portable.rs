//! Names that travel: what one run tells of its locations another run understands, though it has met
//! processes and locations in another order and so has given them other numbers.

use std::path::Path;

use mazurka_abs::{Abs, Options as Reading, Settings, Source as AbsSource, compile as compile_abs};
use mazurka_laws::corpus;
use mazurka_laws::random::Random;
use mazurka_litmus::{Source, compile};
use mazurka_program::{Footprints, Label, Location, LocationName, Program, Run};

/// No walk is longer.
const LONGEST: usize = 60;

/// A step as another run can take it: who took it by path, which outcome it had, and the names of what it
/// touched.
type PortableStep = (Vec<u32>, u32, Vec<LocationName>);

/// Takes random steps from the start. None where the program has to be begun again, knowing more.
fn walk<R: Run>(run: &mut R, random: &mut Random) -> Option<Vec<PortableStep>> {
    run.rewind(0);
    let (mut steps, mut label) = (Vec::new(), Label::default());
    while !run.enabled().is_empty() && steps.len() < LONGEST {
        let enabled: Vec<_> = run.enabled().iter().collect();
        let process = enabled[random.below(enabled.len())];
        let choice = random.below(run.alternatives(process) as usize) as u32;
        run.step(process, choice, &mut label).ok()?;
        let path = run.names().path(process);
        steps.push((path, choice, names(run, &label)));
    }
    Some(steps)
}

fn locations(label: &Label) -> impl Iterator<Item = Location> {
    let guard = label.guard.iter().map(|guard| guard.location);
    label.accesses.iter().flat_map(|access| access.locations()).chain(guard)
}

/// The names of what a step touched, each of which must lead back.
fn names<R: Run>(run: &mut R, label: &Label) -> Vec<LocationName> {
    let portable = run.portable_names().expect("every front end has them");
    let named = locations(label).map(|location| {
        let name = portable.location_name(location).expect("it was met");
        assert_eq!(portable.location_named(&name), Some(location), "{name}");
        let text = name.to_string();
        assert_eq!(text.parse().as_ref(), Ok(&name), "{text}");
        name
    });
    named.collect()
}

/// Takes the steps of another run: they touch what is called the same.
fn travel<R: Run>(run: &mut R, steps: &[PortableStep], what: &str) {
    run.rewind(0);
    let mut label = Label::default();
    for (path, choice, before) in steps {
        let process = run.names().find(path).unwrap_or_else(|| panic!("{what}: {path:?} is not there"));
        run.step(process, *choice, &mut label).unwrap_or_else(|stop| panic!("{what}: {stop:?}"));
        assert_eq!(names(run, &label), *before, "{what}");
    }
}

/// Random walks of a run, when nothing new is found out on the way any more: labels are of one kind only from
/// then on.
fn walks<P: Program>(program: &P, random: &mut Random) -> (P::Run, Vec<Vec<PortableStep>>) {
    loop {
        let mut run = program.start(Footprints::Dynamic);
        let walks = (0..3).filter_map(|_| walk(&mut run, random)).collect();
        if !program.begin_again() {
            return (run, walks);
        }
    }
}

/// Runs a program twice, and lets each run take the steps of the other. Says in how many of the steps the
/// numbers of locations differed.
fn check<P: Program>(program: impl Fn() -> P, what: &str, random: &mut Random) -> usize {
    let (one, other) = (program(), program());
    let ((mut one, mut walked), (mut other, more)) = (walks(&one, random), walks(&other, random));
    walked.extend(more);
    for steps in &walked {
        travel(&mut one, steps, what);
        travel(&mut other, steps, what);
    }
    let differs = |name: &&LocationName| {
        let number = |run: &mut P::Run| run.portable_names().and_then(|run| run.location_named(name));
        number(&mut one) != number(&mut other)
    };
    walked.iter().flatten().flat_map(|step| &step.2).filter(differs).count()
}

#[test]
fn maz() {
    let mut random = Random::new(5);
    let mut differing = 0;
    for seed in corpus::seeds() {
        let program = || compile(&seed.ast, &Source::default(), &[]).expect("part of the corpus");
        differing += check(program, &seed.name, &mut random);
    }
    assert!(differing > 0, "numbers are given in the order of meeting");
}

#[test]
fn abs() {
    let mut random = Random::new(6);
    let directory = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/abs"));
    let mut differing = 0;
    for (name, n) in [("fr", "3"), ("fib", "4"), ("bb", "3"), ("dbp", "2")] {
        let path = directory.join(format!("{name}.abs"));
        let text = std::fs::read_to_string(path).expect("part of the checkout");
        let source = AbsSource { name: name.to_owned(), text };
        let reading = Reading { parameters: vec![("n".to_owned(), n.to_owned())], ..Reading::default() };
        let program = || {
            let model = compile_abs(std::slice::from_ref(&source), &reading);
            Abs::new(model.unwrap_or_else(|wrong| panic!("{wrong:?}")), Settings::default())
        };
        differing += check(program, name, &mut random);
    }
    assert!(differing > 0, "numbers are given in the order of meeting");
}

#[test]
fn closures() {
    use mazurka::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use mazurka::sync::{Arc, Condvar, Mutex, mpsc};
    use mazurka::thread;

    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let body = || {
        let shared = Arc::new((Mutex::new(0), Condvar::new(), AtomicUsize::new(0)));
        let (sender, receiver) = mpsc::channel();
        let threads: Vec<_> = (0..2)
            .map(|i| {
                let (shared, sender) = (shared.clone(), sender.clone());
                thread::spawn(move || {
                    let own = Arc::new(AtomicUsize::new(i));
                    let of_child = own.clone();
                    let child = thread::spawn(move || of_child.fetch_add(1, SeqCst));
                    *shared.0.lock().unwrap() += 1;
                    shared.1.notify_all();
                    COUNT.fetch_add(1, SeqCst);
                    sender.send(shared.2.fetch_add(own.load(SeqCst), SeqCst)).unwrap();
                    child.join().unwrap();
                })
            })
            .collect();
        let mut guard = shared.0.lock().unwrap();
        while *guard < 2 {
            guard = shared.1.wait(guard).unwrap();
        }
        drop(guard);
        while shared.2.load(SeqCst) + COUNT.load(SeqCst) < 2 {}
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(receiver.try_iter().count(), 2);
    };
    let checker = mazurka::Checker::new();
    let program = || mazurka::engine::program(&checker, body);
    let mut random = Random::new(7);
    let differing: usize = (0..5).map(|_| check(program, "closure", &mut random)).sum();
    assert!(differing > 0, "numbers are given in the order of meeting");
}

/// Two programs can't be in memory at once: one after the other.
#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn c() {
    use mazurka_native::driver::{Request, build};
    use mazurka_native::runtime::{Options, load, stub_assembly};

    let text = "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n\
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
        static atomic_int done, x;\nstatic int sum;\n\
        static void *leaf(void *to) { atomic_fetch_add((atomic_int *)to, 1); return 0; }\n\
        static void *work(void *unused) {\n\
          atomic_int *own = malloc(sizeof *own), local;\n  atomic_init(own, 0); atomic_init(&local, 0);\n\
          pthread_t a, b;\n  pthread_create(&a, 0, leaf, own); pthread_create(&b, 0, leaf, &local);\n\
          pthread_mutex_lock(&lock); sum++; pthread_mutex_unlock(&lock);\n  x++;\n\
          pthread_join(a, 0); pthread_join(b, 0);\n  (void)(*own + local);\n  free(own); done++; return 0; }\n\
        int main(void) {\n  pthread_t t[2];\n  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, work, 0);\n\
          while (done + x < 4) ;\n  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);\n  return 0; }\n";
    let path = std::env::temp_dir().join(format!("mazurka-portable-{}.c", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let built = build(&Request { sources: vec![path.clone()], ..Request::default() }, &stub_assembly());
    std::fs::remove_file(&path).unwrap();
    let built = built.unwrap_or_else(|error| panic!("{error}"));
    let mut random = Random::new(8);
    let one = load(&built, Options::default()).unwrap();
    let (_, walked) = walks(&one, &mut random);
    drop(one);
    let other = load(&built, Options::default()).unwrap();
    let (mut run, _) = walks(&other, &mut random);
    walked.iter().for_each(|steps| travel(&mut run, steps, "program.c"));
}
