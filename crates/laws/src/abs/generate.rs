//! Random ABS programs: a class with two fields whose methods call each other, and a main block that starts
//! some.

use mazurka_abs::{AwaitTrue, Dependence, ObjectOrder, Settings, TaskOrder, Uncaught};

use crate::random::Random;

/// How many methods the class has. A method calls later ones only, so that every program ends.
const METHODS: usize = 4;

/// A program, statement by statement, so that it can be made smaller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The statements of each method.
    methods: Vec<Vec<String>>,
    /// What each method returns.
    results: Vec<&'static str>,
    /// The calls of the main block.
    calls: Vec<String>,
}

impl Draft {
    /// The text of the program.
    pub fn text(&self) -> String {
        let mut out = String::from("module M;\nexception Bad(Int n);\ninterface I { ");
        (0..METHODS).for_each(|m| out += &format!("Int m{m}(); "));
        out += "}\nclass C(I o, I l) implements I {\n";
        out += "  Int x = 0; Int y = 1; I p = null; Maybe<Fut<Int>> g = Nothing;\n";
        out += "  { p = o; if (o == null) p = this; }\n";
        for (m, (body, result)) in self.methods.iter().zip(&self.results).enumerate() {
            out += &format!("  Int m{m}() {{\n");
            body.iter().for_each(|statement| out += &format!("    {statement}\n"));
            out += &format!("    return {result};\n  }}\n");
        }
        out += "}\n{\n  I a = new C(null, null);\n  I b = new C(a, null);\n";
        self.calls.iter().for_each(|call| out += &format!("  {call}\n"));
        out + "}\n"
    }

    /// All programs with one statement less.
    pub fn smaller(&self) -> impl Iterator<Item = Draft> + '_ {
        let statements =
            self.methods.iter().enumerate().flat_map(|(m, body)| (0..body.len()).map(move |at| (m, at)));
        let without_statement = statements.map(|(m, at)| {
            let mut draft = self.clone();
            draft.methods[m].remove(at);
            draft
        });
        let without_call = (0..self.calls.len()).map(|at| {
            let mut draft = self.clone();
            draft.calls.remove(at);
            draft
        });
        without_call.chain(without_statement)
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

/// A method while it is written.
struct Writer<'a> {
    random: &'a mut Random,
    features: &'a Features,
    method: usize,
    /// How many variables have been declared.
    names: usize,
    /// The futures in scope.
    futures: Vec<String>,
}

impl Writer<'_> {
    fn one_of(&mut self, texts: &[&'static str]) -> &'static str {
        self.random.pick(texts).copied().unwrap_or("")
    }

    fn statement(&mut self, depth: usize) -> String {
        self.names += 1;
        let (features, n) = (self.features, self.names);
        let later = self.method + 1 + self.random.below(METHODS - self.method);
        let callable = later < METHODS;
        let to = self.one_of(&["p", "this", "p"]);
        let (a, b, k) = (self.one_of(&["x", "y"]), self.one_of(&["x", "y"]), self.random.below(3));
        let future = self.random.pick(&self.futures).cloned();
        match (self.random.below(22), future) {
            (0, _) => format!("{a} = {k};"),
            (1, _) => format!("{a} = {a} + 1;"),
            (2, _) => format!("{a} = {b};"),
            (3, _) if depth < 2 => {
                let scope = self.futures.len();
                let inner = self.statement(depth + 1);
                self.futures.truncate(scope);
                format!("if ({a} > {k}) {{ {inner} }}")
            }
            (4, _) => "suspend;".to_owned(),
            (5, _) if features.conditions => format!("await {a} >= {k};"),
            (6, _) if features.conditions => format!("await x + y != {k};"),
            (7 | 16 | 17, _) if callable => {
                self.futures.push(format!("f{n}"));
                format!("Fut<Int> f{n} = {to}!m{later}();")
            }
            (8, _) if callable => format!("Int r{n} = await p!m{later}(); {a} = r{n};"),
            (9, Some(f)) => format!("await {f}?;"),
            (10, Some(f)) if features.conditions => format!("await {f}? & {a} > {k};"),
            (11 | 18, Some(f)) if features.blocking => format!("{a} = {f}.get;"),
            (12, _) if features.blocking && callable => format!("{a} = p.m{later}();"),
            (12, _) if callable => format!("{a} = this.m{later}();"),
            (13, Some(f)) if features.failing && features.blocking => format!(
                "try {{ {a} = {f}.get; }} catch {{ Bad(n{n}) => {b} = n{n}; ObjectDeadException => {b} = 9; }}"
            ),
            (13, _) if features.failing => format!("if ({a} == {k}) throw Bad({b});"),
            (14, _) if features.failing => format!("assert {a} < 2;"),
            (14, _) if features.local => "if (l == null) l = new local C(o, null);".to_owned(),
            (15, _) if features.local && callable => format!("if (l != null) {a} = l.m{later}();"),
            (15, _) if features.random => format!("Int d{n} = random(2); {a} = d{n};"),
            (19 | 20, Some(f)) if self.random.one_in(2) => format!("g = Just({f});"),
            (19..=21, _) if features.blocking => {
                format!("switch (g) {{ Just(h{n}) => {a} = h{n}.get; _ => skip; }}")
            }
            (19..=21, _) => format!("switch (g) {{ Just(h{n}) => await h{n}?; _ => skip; }}"),
            _ => format!("{b} = {a} + {k};"),
        }
    }
}

/// A random program.
pub fn program(random: &mut Random) -> Draft {
    let features = Features {
        conditions: random.one_in(2),
        blocking: random.one_in(2),
        failing: random.one_in(3),
        local: random.one_in(4),
        random: random.one_in(6),
    };
    let body = |method: usize, random: &mut Random| {
        let mut writer = Writer { random, features: &features, method, names: 0, futures: Vec::new() };
        (0..1 + writer.random.below(4)).map(|_| writer.statement(0)).collect()
    };
    let methods = (0..METHODS).map(|method| body(method, random)).collect();
    let results = (0..METHODS).map(|_| random.pick(&["x", "y", "1"]).copied().unwrap_or("x")).collect();
    let call = |random: &mut Random| {
        let object = random.pick(&["a", "b", "b"]).copied().unwrap_or("a");
        format!("{object}!m{}();", random.below(METHODS - 1))
    };
    let calls = (0..2 + random.below(2)).map(|_| call(random)).collect();
    Draft { methods, results, calls }
}

/// Random settings, mostly those that people have.
pub fn settings(random: &mut Random) -> Settings {
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
    if random.one_in(4) {
        settings.forgets_dead_variables = true;
    }
    if random.one_in(10) {
        settings.tasks = if random.one_in(2) { TaskOrder::Fifo } else { TaskOrder::Lifo };
    }
    if random.one_in(12) {
        settings.objects = ObjectOrder::Circular;
    }
    settings
}
