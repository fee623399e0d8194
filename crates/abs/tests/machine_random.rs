//! Random programs under every algorithm, against brute force. `MAZURKA_ABS_SEEDS=from..to` tries others.

mod machine_support;

use machine_support::{check_within, program_with};
use mazurka_abs::{AwaitTrue, Dependence, ObjectOrder, Settings, TaskOrder, Uncaught};
use mazurka_oracle::Budget;

/// Random numbers (xorshift).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..5 {
            random.below(2);
        }
        random
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as usize % bound
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// What a program may have.
struct Features {
    conditions: bool,
    blocking: bool,
    failing: bool,
    local: bool,
    random: bool,
}

const METHODS: usize = 4;

/// The body of a method so far.
struct Writer<'a> {
    random: &'a mut Random,
    features: &'a Features,
    method: usize,
    out: String,
    /// How many variables have been declared.
    names: usize,
    /// The futures in scope.
    futures: Vec<String>,
}

impl Writer<'_> {
    fn name(&mut self) -> usize {
        self.names += 1;
        self.names
    }

    /// A method may call those after it only, so every program ends.
    fn statement(&mut self, depth: usize) {
        let (features, n) = (self.features, self.name());
        let later = self.method + 1 + self.random.below(METHODS - self.method);
        let to = self.random.pick(&["p", "this", "p"]);
        let (a, b, k) = (self.random.pick(&["x", "y"]), self.random.pick(&["x", "y"]), self.random.below(3));
        let at = self.random.below(self.futures.len().max(1));
        let future = self.futures.get(at).cloned();
        let text = match (self.random.below(22), future) {
            (0, _) => format!("{a} = {k}; "),
            (1, _) => format!("{a} = {a} + 1; "),
            (2, _) => format!("{a} = {b}; "),
            (3, _) if depth < 2 => {
                self.out += &format!("if ({a} > {k}) {{ ");
                let scope = self.futures.len();
                self.statement(depth + 1);
                self.futures.truncate(scope);
                "} ".to_owned()
            }
            (4, _) => "suspend; ".to_owned(),
            (5, _) if features.conditions => format!("await {a} >= {k}; "),
            (6, _) if features.conditions => format!("await x + y != {k}; "),
            (7 | 16 | 17, _) if later < METHODS => {
                self.futures.push(format!("f{n}"));
                format!("Fut<Int> f{n} = {to}!m{later}(); ")
            }
            (8, _) if later < METHODS => format!("Int r{n} = await p!m{later}(); {a} = r{n}; "),
            (9, Some(f)) => format!("await {f}?; "),
            (10, Some(f)) if features.conditions => format!("await {f}? & {a} > {k}; "),
            (11 | 18, Some(f)) if features.blocking => format!("{a} = {f}.get; "),
            (12, _) if features.blocking && later < METHODS => format!("{a} = p.m{later}(); "),
            (12, _) if later < METHODS => format!("{a} = this.m{later}(); "),
            (13, Some(f)) if features.failing && features.blocking => format!(
                "try {{ {a} = {f}.get; }} catch {{ Bad(n{n}) => {b} = n{n}; ObjectDeadException => {b} = 9; }} "
            ),
            (13, _) if features.failing => format!("if ({a} == {k}) throw Bad({b}); "),
            (14, _) if features.failing => format!("assert {a} < 2; "),
            (14, _) if features.local => "if (l == null) l = new local C(o, null); ".to_owned(),
            (15, _) if features.local && later < METHODS => format!("if (l != null) {a} = l.m{later}(); "),
            (15, _) if features.random => format!("Int d{n} = random(2); {a} = d{n}; "),
            (19 | 20, Some(f)) if self.random.one_in(2) => format!("g = Just({f}); "),
            (19..=21, _) if features.blocking => {
                format!("switch (g) {{ Just(h{n}) => {a} = h{n}.get; _ => skip; }} ")
            }
            (19..=21, _) => format!("switch (g) {{ Just(h{n}) => await h{n}?; _ => skip; }} "),
            _ => format!("{b} = {a} + {k}; "),
        };
        self.out += &text;
    }
}

fn source(random: &mut Random) -> String {
    let features = Features {
        conditions: random.one_in(2),
        blocking: random.one_in(2),
        failing: random.one_in(3),
        local: random.one_in(4),
        random: random.one_in(6),
    };
    let mut out = String::from("module M; exception Bad(Int n); interface I { ");
    (0..METHODS).for_each(|m| out += &format!("Int m{m}(); "));
    out += "}\nclass C(I o, I l) implements I {\n";
    out += "  Int x = 0; Int y = 1; I p = null; Maybe<Fut<Int>> g = Nothing;\n";
    out += "  { p = o; if (o == null) p = this; }\n";
    for method in 0..METHODS {
        let mut writer =
            Writer { random, features: &features, method, out: String::new(), names: 0, futures: Vec::new() };
        (0..1 + writer.random.below(4)).for_each(|_| writer.statement(0));
        let body = writer.out;
        out += &format!("  Int m{method}() {{ {body}return {}; }}\n", random.pick(&["x", "y", "1"]));
    }
    out += "}\n{ I a = new C(null, null); I b = new C(a, null);\n";
    for _ in 0..2 + random.below(2) {
        out += &format!("  {}!m{}();\n", random.pick(&["a", "b", "b"]), random.below(METHODS - 1));
    }
    out + "}\n"
}

fn settings(random: &mut Random) -> Settings {
    let mut settings = Settings::default();
    if random.one_in(4) {
        settings.dependence = Dependence::Static;
    }
    if random.one_in(4) {
        settings.await_holds = AwaitTrue::Continue;
    }
    if random.one_in(4) {
        settings.uncaught = Uncaught::Forgive;
    }
    if random.one_in(10) {
        settings.tasks = if random.one_in(2) { TaskOrder::Fifo } else { TaskOrder::Lifo };
    }
    if random.one_in(12) {
        settings.objects = ObjectOrder::Circular;
    }
    settings
}

#[test]
fn random_programs() {
    let seeds = std::env::var("MAZURKA_ABS_SEEDS").unwrap_or_else(|_| "0..250".to_owned());
    let (from, to) = seeds.split_once("..").expect("from..to");
    let (mut checked, mut classes) = (0, 0);
    for seed in from.parse().expect("a number")..to.parse::<u64>().expect("a number") {
        let mut random = Random::new(seed);
        let text = source(&mut random);
        let settings = settings(&mut random);
        let program = program_with(&text, &[], settings);
        let told =
            std::panic::AssertUnwindSafe(|| check_within(&program, Budget { executions: 2_000, steps: 40 }));
        match std::panic::catch_unwind(told) {
            Ok(Some(truth)) => {
                checked += 1;
                classes += truth.mazurkiewicz.len();
            }
            Ok(None) => {}
            Err(_) => panic!("seed {seed}, {settings:?}:\n{text}"),
        }
    }
    println!("{checked} programs, {classes} classes");
    assert!(checked > 0);
}
