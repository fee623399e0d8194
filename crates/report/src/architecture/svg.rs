//! The picture: processes on a circle, a line for each edge, with what it is about beside it.

use std::f64::consts::TAU;
use std::fmt::Write as _;

use super::{Architecture, NamedLink};

/// The width of a character, and the height of a line; what is free at the left and at the right.
const CHARACTER: f64 = 7.9;
const LINE: f64 = 18.0;
const MARGIN: f64 = 16.0;

/// Where the words of the legend begin, beside their lines.
const BESIDE: f64 = 62.0;

/// A longer list of locations is cut.
const MOST_NAMES: usize = 3;
const LONGEST: usize = 28;

const STYLE: &str = "text{font:13px ui-monospace,Menlo,Consolas,monospace;fill:#1b1f24}\
.box{fill:#f6f8fa;stroke:#1b1f24;stroke-width:1.4}.label{fill:#fff}.free{stroke:#c2410c;stroke-width:2.6}\
.fixed{stroke:#57606a;stroke-width:1.4}.order{stroke:#8c959f;stroke-width:1.2;stroke-dasharray:2 5}\
.open{fill:#c2410c;font-weight:600}.title{font-weight:600}";

#[derive(Clone, Copy)]
struct Rect {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Rect {
    fn around(x: f64, y: f64, characters: usize) -> Rect {
        let width = characters as f64 * CHARACTER + 10.0;
        Rect { x: x - width / 2.0, y: y - LINE / 2.0 - 2.0, width, height: LINE + 4.0 }
    }

    fn meets(&self, other: &Rect) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }
}

pub(super) fn draw(architecture: &Architecture) -> String {
    let names: Vec<String> = architecture.processes.iter().map(|name| shortened(name)).collect();
    let many = names.len().max(1);
    let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(1) as f64 * CHARACTER + 20.0;
    // Neighbours on the circle are far enough apart for a box and a label.
    let radius = if many < 2 { 0.0 } else { ((widest + 110.0) * many as f64 / TAU).max(150.0) };
    let (kind, guarantee) = architecture.verdict();
    let head: Vec<String> =
        [architecture.program.clone(), kind.to_owned()].into_iter().chain(wrapped(&guarantee, 84)).collect();
    let top = 24.0 + head.len() as f64 * LINE;
    let vertical = if many == 2 { 30.0 } else { radius };
    let legend = legend(architecture);
    let written = head.iter().map(|line| MARGIN + length(line));
    let written = written.chain(legend.iter().map(|(_, words)| BESIDE + length(words)));
    let width = written.fold(2.0 * radius + widest + 80.0, f64::max) + MARGIN;
    let (middle, centre) = (width / 2.0, top + 40.0 + vertical);
    // Those at the bottom stand on the circle only if they are as many as those at the top.
    let below = if many > 2 && many % 2 == 1 { radius * (TAU / 2.0 / many as f64).cos() } else { vertical };
    let under = centre + below + 60.0;
    let height = under + legend.len() as f64 * LINE;
    let place = |at: usize| {
        // Two stand beside each other; else the first is at the top.
        let turn = at as f64 / many as f64 * TAU + if many == 2 { TAU / 2.0 } else { -TAU / 4.0 };
        (middle + radius * turn.cos(), centre + if many == 2 { 0.0 } else { radius * turn.sin() })
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\"><style>{STYLE}</style><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    for (k, line) in head.iter().enumerate() {
        let class = if k < 2 { "title" } else { "plain" };
        text(&mut svg, MARGIN, 26.0 + k as f64 * LINE, class, "start", line);
    }
    let boxes: Vec<Rect> = names
        .iter()
        .enumerate()
        .map(|(at, name)| {
            let (x, y) = place(at);
            let Rect { x, y, width, height } = Rect::around(x, y, name.chars().count() + 1);
            Rect { x, y: y - 4.0, width, height: height + 8.0 }
        })
        .collect();
    for link in &architecture.links {
        let ((x1, y1), (x2, y2)) = (place(link.between.0), place(link.between.1));
        // Writing to a string does not fail.
        let _ = writeln!(
            svg,
            "<line class=\"{}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>",
            class(link)
        );
    }
    let mut taken = boxes.clone();
    for link in &architecture.links {
        label(&mut svg, &mut taken, link, place(link.between.0), place(link.between.1));
    }
    for (at, rect) in boxes.iter().enumerate() {
        let Rect { x, y, width, height } = rect;
        let _ = writeln!(
            svg,
            "<rect class=\"box\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"7\"/>"
        );
        let (x, y) = place(at);
        text(&mut svg, x, y + 4.5, "plain", "middle", &names[at]);
    }
    for (k, (kind, words)) in legend.into_iter().enumerate() {
        let y = under + k as f64 * LINE;
        let end = BESIDE - 10.0;
        let _ = writeln!(
            svg,
            "<line class=\"{kind}\" x1=\"{MARGIN}\" y1=\"{y:.1}\" x2=\"{end}\" y2=\"{y:.1}\"/>"
        );
        text(&mut svg, BESIDE, y + 4.5, "plain", "start", words);
    }
    svg + "</svg>\n"
}

fn class(link: &NamedLink) -> &'static str {
    match (link.free.is_empty(), link.locations.is_empty()) {
        (false, _) => "free",
        (true, false) => "fixed",
        (true, true) => "order",
    }
}

/// What an edge is about, on it, where nothing else is.
fn label(svg: &mut String, taken: &mut Vec<Rect>, link: &NamedLink, from: (f64, f64), to: (f64, f64)) {
    let mut names: Vec<String> = link.locations.iter().take(MOST_NAMES).map(|name| shortened(name)).collect();
    if let more @ 1.. = link.locations.len().saturating_sub(MOST_NAMES) {
        names.push(format!("+{more}"));
    }
    // Who creates or joins whom is told by the line alone.
    if names.is_empty() {
        return;
    }
    let words = shortened(&names.join(", "));
    let at = |part: f64| {
        let (x, y) = (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part);
        (x, y, Rect::around(x, y, words.chars().count()))
    };
    let parts = [0.5, 0.42, 0.58, 0.35, 0.65, 0.28, 0.72, 0.22, 0.78];
    let free = |part: &&f64| !taken.iter().any(|other| other.meets(&at(**part).2));
    let (x, y, rect) = at(*parts.iter().find(free).unwrap_or(&parts[0]));
    taken.push(rect);
    let Rect { x: left, y: above, width, height } = rect;
    // Writing to a string does not fail.
    let _ = writeln!(
        svg,
        "<rect class=\"label\" x=\"{left:.1}\" y=\"{above:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
    );
    let class = match class(link) {
        "free" => "open",
        _ => "plain",
    };
    text(svg, x, y + 4.5, class, "middle", &words);
}

/// What the lines mean, of the kinds that there are.
fn legend(architecture: &Architecture) -> Vec<(&'static str, &'static str)> {
    let kinds = [
        ("free", "several processes write it: what is read leaves the order of some events open"),
        ("fixed", "shared: what is read decides the order"),
        ("order", "one creates or joins the other"),
    ];
    let is_there = |kind: &str| architecture.links.iter().any(|link| class(link) == kind);
    kinds.into_iter().filter(|(kind, _)| is_there(kind)).collect()
}

/// How long a text is.
fn length(words: &str) -> f64 {
    words.chars().count() as f64 * CHARACTER
}

fn text(svg: &mut String, x: f64, y: f64, class: &str, anchor: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = writeln!(
        svg,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>"
    );
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= LONGEST {
        return name.to_owned();
    }
    name.chars().take(LONGEST - 3).chain("...".chars()).collect()
}

/// A text in lines of about so many characters.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is a line");
        if last.chars().count() + word.chars().count() >= most {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}
