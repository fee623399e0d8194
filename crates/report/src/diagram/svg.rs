//! Shapes with places, and how they are written as SVG.

use std::fmt::Write;

/// How many pixels a character takes: the font has one width for all.
pub const CHARACTER: i32 = 7;
/// From one line of text to the next.
pub const LINE: i32 = 18;
/// From the top of a line of text to where its letters stand.
pub const BASE: i32 = 13;

/// What something looks like. The names are those of the style sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Plain,
    Heading,
    Faint,
    Return,
    Await,
    Blocked,
    Exception,
    Deadlock,
    Arrow,
    Creation,
    Lifeline,
}

impl Look {
    fn class(self) -> &'static str {
        match self {
            Look::Plain => "plain",
            Look::Heading => "heading",
            Look::Faint => "faint",
            Look::Return => "return",
            Look::Await => "await",
            Look::Blocked => "blocked",
            Look::Exception => "exception",
            Look::Deadlock => "deadlock",
            Look::Arrow => "arrow",
            Look::Creation => "creation",
            Look::Lifeline => "lifeline",
        }
    }
}

/// The style sheet. Colours are dark enough to be read on white, and words say the same.
const STYLE: &str = "\
text{font:12px 'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#222}\
rect{fill:#fff;stroke:#555}line,path{stroke:#555;fill:none}\
text.heading{font-weight:bold}rect.heading{fill:#e8eef7}text.faint{fill:#666}\
text.return{fill:#116611}rect.return{fill:#d5f0d5;stroke:none}\
text.await{fill:#8a4b00}rect.await{fill:#ffe3b8;stroke:none}\
text.blocked{fill:#a00000}rect.blocked{fill:#ffd2d2;stroke:none}\
text.exception{fill:#fff;font-weight:bold}rect.exception{fill:#a00000;stroke:none}\
text.deadlock{fill:#a00000;font-weight:bold}rect.deadlock{stroke:#d00000;stroke-width:3}\
line.creation{stroke-dasharray:6 3}polygon{fill:#555}line.lifeline{stroke:#bbb;stroke-dasharray:2 4}";

/// A shape with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    Box {
        x: i32,
        y: i32,
        width: i32,
        height: i32,
        look: Look,
    },
    /// `x` and `y` are the left end and the top. `whole`: what it was before it was shortened.
    Text {
        x: i32,
        y: i32,
        text: String,
        whole: Option<String>,
        look: Look,
    },
    Line {
        from: (i32, i32),
        to: (i32, i32),
        look: Look,
    },
    /// A line with a head at its end. It is straight where it is horizontal, and else bent so that both its
    /// ends are.
    Arrow {
        from: (i32, i32),
        to: (i32, i32),
        look: Look,
    },
    /// From the side of a box back to it.
    Hook {
        x: i32,
        y: i32,
    },
}

/// A picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    pub width: i32,
    pub height: i32,
    pub shapes: Vec<Shape>,
}

impl Picture {
    /// Adds a text that takes at most so many characters, and says how it looks.
    pub fn text(&mut self, x: i32, y: i32, text: &str, most: usize, look: Look) {
        let text = printable(text);
        let short = shortened(&text, most);
        let whole = (short != text).then_some(text);
        self.shapes.push(Shape::Text { x, y, text: short, whole, look });
    }

    /// The picture as SVG.
    pub fn svg(&self) -> String {
        let (width, height) = (self.width, self.height);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\">\n<style>{STYLE}</style>\n\
             <rect width=\"{width}\" height=\"{height}\" style=\"stroke:none\"/>\n"
        );
        for shape in &self.shapes {
            // Writing to a string does not fail.
            let _ = write_shape(&mut svg, shape);
        }
        svg + "</svg>\n"
    }
}

fn write_shape(svg: &mut String, shape: &Shape) -> std::fmt::Result {
    match shape {
        Shape::Box { x, y, width, height, look } => writeln!(
            svg,
            "<rect class=\"{}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"3\"/>",
            look.class()
        ),
        Shape::Text { x, y, text, whole, look } => {
            let title =
                whole.as_ref().map_or(String::new(), |whole| format!("<title>{}</title>", escaped(whole)));
            let (class, y) = (look.class(), y + BASE);
            // The width is fixed, so that another font makes no text longer than its place.
            let length = width_of(text) as i32 * CHARACTER;
            writeln!(
                svg,
                "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" textLength=\"{length}\" xml:space=\"preserve\">{title}{}</text>",
                escaped(text)
            )
        }
        Shape::Line { from: (x1, y1), to: (x2, y2), look } => writeln!(
            svg,
            "<line class=\"{}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>",
            look.class()
        ),
        Shape::Arrow { from: (x1, y1), to: (to, y), look } => {
            let back = if to > x1 { to - 8 } else { to + 8 };
            let class = look.class();
            match y1 == y {
                true => {
                    write!(svg, "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y}\" x2=\"{back}\" y2=\"{y}\"/>")
                }
                false => {
                    write!(svg, "<path class=\"{class}\" d=\"M{x1} {y1} C{back} {y1} {x1} {y} {back} {y}\"/>")
                }
            }?;
            writeln!(svg, "<polygon points=\"{to},{y} {back},{} {back},{}\"/>", y - 4, y + 4)
        }
        Shape::Hook { x, y } => writeln!(
            svg,
            "<path d=\"M{x} {} h9 v9 h-3\"/><polygon points=\"{x},{} {},{} {},{}\"/>",
            y - 4,
            y + 5,
            x + 7,
            y + 1,
            x + 7,
            y + 9
        ),
    }
}

/// How many characters of the font a text takes. What is not ASCII may be wide.
pub fn width_of(text: &str) -> usize {
    text.chars().map(width_of_character).sum()
}

fn width_of_character(c: char) -> usize {
    if (c as u32) < 0x300 || c == '\u{2026}' { 1 } else { 2 }
}

/// On one line, without what XML has no way to write.
fn printable(text: &str) -> String {
    let allowed =
        |c: char| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}' | '\u{2028}' | '\u{2029}');
    text.chars().map(|c| if allowed(c) { c } else { ' ' }).collect()
}

/// The beginning of a text that takes at most so many characters, with an ellipsis where something is
/// missing.
fn shortened(text: &str, most: usize) -> String {
    if width_of(text) <= most {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut width = 1;
    for c in text.chars() {
        width += width_of_character(c);
        if width > most {
            break;
        }
        short.push(c);
    }
    short + "\u{2026}"
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&apos;",
            c => escaped.push(c),
        }
    }
    escaped
}
