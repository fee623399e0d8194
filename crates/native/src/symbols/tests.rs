//! Names and values of a real program, of each compiler that is here.

use super::*;
use crate::driver::{Request, build};

const PROGRAM: &str = "
enum colour { RED, GREEN = 5, BLUE = -1 };
struct point { int x; unsigned char tag; };
struct queue {
  struct point slots[4];
  enum colour colour;
  union { long whole; int half[2]; };
  struct queue *next;
  _Bool full;
  double weight;
} queue;
int matrix[3][4];
static short hidden;
int work(void) {
  static int calls;
  calls++;
  queue.slots[2].x = hidden;
  return matrix[1][2];
}
int main(void) { return work(); }
";

fn stub() -> String {
    let mut text =
        String::from("\t.text\n\t.globl __tsan_init\n\t.hidden __tsan_init\n__tsan_init:\n\tret\n");
    for way in ["read", "write"] {
        for size in [1, 2, 4, 8] {
            text += &format!(
                "\t.globl __tsan_{way}{size}\n\t.hidden __tsan_{way}{size}\n__tsan_{way}{size}:\n\tret\n"
            );
        }
    }
    text + "\t.section .note.GNU-stack,\"\",@progbits\n"
}

/// The name of a variable at an address.
fn static_name(symbols: &Symbols, address: u64, size: u64) -> Option<String> {
    symbols.name(&Storage::Static { address }, size)
}

fn address_of(object: &Path, name: &str) -> u64 {
    let bytes = std::fs::read(object).expect("the object");
    let file = object::File::parse(bytes.as_slice()).expect("an object");
    let symbol = file.symbol_by_name(name);
    symbol.unwrap_or_else(|| panic!("{name}")).address()
}

#[test]
fn variables_have_names_and_values() {
    let source = std::env::temp_dir().join(format!("mazurka-symbols-{}.c", std::process::id()));
    std::fs::write(&source, PROGRAM).expect("a file");
    let mut compilers = 0;
    for compiler in ["gcc", "clang", "clang-19"] {
        let request = Request {
            sources: vec![source.clone()],
            compiler: Some(compiler.to_owned()),
            ..Request::default()
        };
        let Ok(built) = build(&request, &stub()) else { continue };
        compilers += 1;
        let symbols = Symbols::new(&built.object);
        let queue = address_of(&built.object, "queue");
        for (offset, bytes, name, value) in [
            (0, &[0xff, 0xff, 0xff, 0xff][..], "queue.slots[0].x", "-1"),
            (16, &[7, 0, 0, 0], "queue.slots[2].x", "7"),
            (20, &[65], "queue.slots[2].tag", "'A' (65)"),
            (32, &[5, 0, 0, 0], "queue.colour", "GREEN"),
            (32, &[0xff, 0xff, 0xff, 0xff], "queue.colour", "BLUE"),
            (32, &[9, 0, 0, 0], "queue.colour", "9"),
            (40, &[1, 0, 0, 0, 0, 0, 0, 0], "queue.whole", "1"),
            (44, &[1, 0, 0, 0], "queue.half[1]", "1"),
            (48, &[0; 8], "queue.next", "NULL"),
            (56, &[1], "queue.full", "true"),
            (64, &[0, 0, 0, 0, 0, 0, 0xf8, 0x3f], "queue.weight", "1.5"),
            (17, &[3, 0], "queue.slots[2].x+1", "0x3"),
        ] {
            let storage = Storage::Static { address: queue + offset };
            let told = (symbols.name(&storage, bytes.len() as u64), symbols.value(&storage, bytes));
            assert_eq!(told, (Some(name.to_owned()), Some(value.to_owned())), "{compiler}");
        }
        let matrix = address_of(&built.object, "matrix");
        assert_eq!(static_name(&symbols, matrix + 24, 4).as_deref(), Some("matrix[1][2]"), "{compiler}");
        assert_eq!(static_name(&symbols, matrix, 48).as_deref(), Some("matrix"), "{compiler}");
        let named = |name| static_name(&symbols, address_of(&built.object, name), 2);
        assert_eq!(named("hidden").as_deref(), Some("hidden"), "{compiler}");
        let work = address_of(&built.object, "work");
        assert_eq!(symbols.function(work + 1).as_deref(), Some("work"), "{compiler}");
        let place = symbols.place(work + 1).expect("a place");
        assert_eq!((place.file, place.line), (source.display().to_string(), 14), "{compiler}");
        assert_eq!(symbols.place(1), None, "{compiler}");
        assert_eq!(static_name(&symbols, 1 << 40, 4), None, "{compiler}");
    }
    std::fs::remove_file(&source).expect("it was there");
    assert!(compilers > 0, "there is no compiler");
}

#[test]
fn what_can_not_be_read_has_no_names() {
    let symbols = Symbols::new(Path::new("/nowhere"));
    assert_eq!((static_name(&symbols, 16, 4), symbols.place(16), symbols.function(16)), (None, None, None));
    assert_eq!(symbols.value(&Storage::Static { address: 16 }, &[0x10, 0x20]), None);
    assert_eq!(Types::default().value(None, &[0x10, 0x20]), "0x2010");
}
