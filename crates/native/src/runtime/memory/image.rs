//! The program's shared object in memory: its functions, and its variables as they were before the first execution.
//!
//! Variables are put back before each execution. Pages that no execution has written yet are read-only; the first write
//! of one faults, and from then on the page is writable and among those that are put back. So to begin an execution costs
//! what the program writes, not what it declares, and no write can be missed, whoever makes it.
//!
//! Invariants: `variables` is the writable part of the object without the word of the stubs, which is on a page of its own;
//! `saved` has its content before any code of the program ran; a page that is not hot is equal to what was saved.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::ops::Range;
use std::path::Path;
use std::ptr;

use mazurka_threads::lifetime::ExecutionState;
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSection, SectionFlags, elf};

use super::layout::PAGE;
use super::zones::{Zone, zones};
use crate::runtime::system::stubs;

const PT_LOAD: u32 = 1;
const PT_TLS: u32 = 7;
const PT_GNU_RELRO: u32 = 0x6474_e552;
const PF_W: u32 = 2;

/// The template of thread-local variables.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Template {
    pub(crate) start: usize,
    /// What has an initial value other than 0.
    pub(crate) filled: usize,
    pub(crate) size: usize,
    pub(crate) align: usize,
}

/// A shared object that was loaded.
pub(crate) struct Image {
    handle: *mut libc::c_void,
    pub(crate) base: usize,
    /// All of the object.
    pub(crate) extent: Range<usize>,
    pub(crate) variables: Range<usize>,
    /// What is between them.
    pub(crate) zones: Vec<Zone>,
    saved: Vec<u8>,
    /// By page of `variables`.
    is_hot: Vec<bool>,
    hot: Vec<Range<usize>>,
    pub(crate) tls: Template,
    pub(crate) main: usize,
    /// Whether it has C++ in it, whose objects have destructors.
    pub(crate) unwinds: bool,
    /// Where the stubs leave the address that they return to.
    pub(crate) caller: *mut usize,
    /// What calls functions of the program: itself first, then three arguments.
    pub(crate) enter: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct ProgramHeader {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    physical: u64,
    file_size: u64,
    size: u64,
    align: u64,
}

impl Image {
    /// Loads an object and connects its stubs.
    pub(crate) fn load(object: &Path) -> Result<Image, String> {
        let path = CString::new(object.as_os_str().as_encoded_bytes())
            .map_err(|_| "the path of the object has a zero byte".to_owned())?;
        // SAFETY: the path is a C string. Constructors were taken out of the object, or call nothing but stubs that return.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(last_error());
        }
        // SAFETY: the handle is that of an object that was just loaded.
        let mut image = unsafe { Image::of(handle, end_of_variables(object))? };
        image.zones = zones(object);
        Ok(image)
    }

    /// # Safety
    /// The handle must be that of a loaded object, whose code has not run.
    unsafe fn of(handle: *mut libc::c_void, end_of_variables: Option<usize>) -> Result<Image, String> {
        let symbol = |name: &CStr| {
            // SAFETY: the handle is valid and the name a C string.
            let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
            match found.is_null() {
                true => Err(format!("the program has no `{}`", name.to_string_lossy())),
                false => Ok(found.expose_provenance()),
            }
        };
        let (main, table) = (symbol(c"main")?, symbol(c"mazurka_table")?);
        let (caller, enter) = (symbol(c"mazurka_caller")?, symbol(c"mazurka_enter")?);
        // SAFETY: as above; a valid place is given for the result.
        let base = unsafe {
            let mut map: *mut LinkMap = ptr::null_mut();
            let result = libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast());
            if result != 0 || map.is_null() {
                return Err(last_error());
            }
            (*map).address
        };
        // SAFETY: the table is the stub's, with as many entries as there are functions.
        unsafe { stubs::connect(ptr::with_exposed_provenance_mut(table))? };
        // SAFETY: an object's first bytes are its header, and the headers of its parts are where that says.
        let headers = unsafe { program_headers(base) };
        let mut variables = variables(&headers, base, caller..caller + PAGE)?;
        if let Some(end) = end_of_variables {
            // What is behind them, up to the stub's page, is nobody's.
            variables.end = variables.end.min(base + end).max(variables.start);
        }
        let tls = headers.iter().find(|header| header.kind == PT_TLS).map_or(Template::default(), |header| {
            let at = base + header.address as usize;
            let (filled, size) = (header.file_size as usize, header.size as usize);
            Template { start: at, filled, size, align: (header.align as usize).max(1) }
        });
        let end = headers.iter().filter(|header| header.kind == PT_LOAD);
        let end = end.map(|header| base + (header.address + header.size) as usize).max().unwrap_or(base);
        // SAFETY: the range is mapped and initialised; nothing of the program runs.
        let saved = unsafe {
            std::slice::from_raw_parts(ptr::with_exposed_provenance(variables.start), variables.len())
        };
        let pages = variables.len().div_ceil(PAGE) + 1;
        let image = Image {
            handle,
            base,
            extent: base..end,
            saved: saved.to_vec(),
            zones: Vec::new(),
            is_hot: vec![false; pages],
            // With room for all: pages are added by the handler of a signal.
            hot: Vec::with_capacity(pages),
            tls,
            main,
            unwinds: false,
            caller: ptr::with_exposed_provenance_mut(caller),
            enter,
            variables,
        };
        image.protect(image.variables.clone(), false);
        Ok(image)
    }

    /// Makes pages read-only, or writable.
    fn protect(&self, range: Range<usize>, writable: bool) {
        let (from, to) = (range.start & !(PAGE - 1), range.end.next_multiple_of(PAGE));
        let access = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        if from < to {
            // SAFETY: the pages hold variables of the program and nothing else: the stub's tables and what is read-only
            // after relocation begin and end at pages. Who writes one that is read-only comes to `touched`.
            unsafe { libc::mprotect(ptr::with_exposed_provenance_mut(from), to - from, access) };
        }
    }

    /// Whether a fault at an address is the first write of a page of variables, which can be repeated now.
    pub(crate) fn first_write(&mut self, address: usize) -> bool {
        if !self.variables.contains(&address) {
            return false;
        }
        let first_page = self.variables.start & !(PAGE - 1);
        let page = (address - first_page) / PAGE;
        if std::mem::replace(&mut self.is_hot[page], true) {
            return false;
        }
        let start = first_page + page * PAGE;
        self.protect(start..start + PAGE, true);
        self.hot.push(start.max(self.variables.start)..(start + PAGE).min(self.variables.end));
        true
    }

    /// Puts the variables back to what they were when so many ranges of them were saved.
    #[inline]
    fn put_back(&mut self, ranges: usize, mut saved: &[u8]) {
        for (at, range) in self.hot.iter().enumerate() {
            let from = if at < ranges {
                let (from, rest) = saved.split_at(range.len());
                saved = rest;
                from
            } else {
                // Nobody had written it then.
                &self.saved[range.start - self.variables.start..range.end - self.variables.start]
            };
            // SAFETY: the range is writable memory of the object, as long as what was saved of it.
            unsafe {
                let to = ptr::with_exposed_provenance_mut::<u8>(range.start);
                ptr::copy_nonoverlapping(from.as_ptr(), to, from.len());
            }
        }
    }

    /// The variables on pages that some execution has written.
    pub(crate) fn written(&self) -> &[Range<usize>] {
        &self.hot
    }

    /// What the variables hold on the pages that some execution has written, with their addresses.
    pub(crate) fn variables_now(&self) -> Vec<(usize, Vec<u8>)> {
        let read = |range: &Range<usize>| {
            // SAFETY: the range is memory of the object.
            let bytes =
                unsafe { std::slice::from_raw_parts(ptr::with_exposed_provenance(range.start), range.len()) };
            (range.start, bytes.to_vec())
        };
        self.hot.iter().map(read).collect()
    }
}

/// The variables that were put aside: the first so many ranges of those that are written.
#[derive(Default)]
pub(crate) struct SavedVariables {
    ranges: usize,
    bytes: Vec<u8>,
}

impl ExecutionState for Image {
    type Saved = SavedVariables;

    #[inline]
    fn begin(&mut self) {
        self.put_back(0, &[]);
    }

    #[inline]
    fn save(&self, saved: &mut SavedVariables) {
        saved.bytes.clear();
        for range in &self.hot {
            // SAFETY: the range is memory of the object.
            saved.bytes.extend_from_slice(unsafe {
                std::slice::from_raw_parts(ptr::with_exposed_provenance(range.start), range.len())
            });
        }
        saved.ranges = self.hot.len();
    }

    #[inline]
    fn restore(&mut self, saved: &SavedVariables) {
        self.put_back(saved.ranges, &saved.bytes);
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        // SAFETY: the object was loaded by us; no code of it runs, and its destructors were taken out or call stubs only.
        unsafe { libc::dlclose(self.handle) };
    }
}

/// The beginning of what the loader knows of an object.
#[repr(C)]
struct LinkMap {
    address: usize,
}

/// # Safety
/// An object must be loaded at the address.
unsafe fn program_headers(base: usize) -> Vec<ProgramHeader> {
    // SAFETY: the file header is 64 bytes, with the place and number of program headers at these offsets.
    unsafe {
        let at = |offset: usize| ptr::with_exposed_provenance::<u8>(base + offset);
        let place = at(32).cast::<u64>().read() as usize;
        let count = at(56).cast::<u16>().read() as usize;
        (0..count).map(|n| at(place).cast::<ProgramHeader>().add(n).read()).collect()
    }
}

/// Where the variables of an object end, relative to where it is loaded, if its sections tell.
fn end_of_variables(object: &Path) -> Option<usize> {
    let bytes = std::fs::read(object).ok()?;
    let file = ElfFile64::<LittleEndian>::parse(&*bytes).ok()?;
    let variables = file.sections().filter(|section| {
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else { return false };
        let has = |flag: elf::SectionFlags| sh_flags & flag == flag;
        let variable = has(elf::SHF_ALLOC) && has(elf::SHF_WRITE) && !has(elf::SHF_TLS);
        variable && section.name() != Ok(stubs::SECTION)
    });
    variables.map(|section| (section.address() + section.size()) as usize).max()
}

/// The writable part of an object that is neither read-only after relocation nor the stub's.
fn variables(headers: &[ProgramHeader], base: usize, own: Range<usize>) -> Result<Range<usize>, String> {
    let range = |header: &ProgramHeader| {
        base + header.address as usize..base + (header.address + header.size) as usize
    };
    let written: Vec<Range<usize>> = headers
        .iter()
        .filter(|header| header.kind == PT_LOAD && header.flags & PF_W != 0)
        .map(range)
        .collect();
    let [written] = &written[..] else {
        return Err(
            "the object has several writable segments: link it without a script of your own".to_owned()
        );
    };
    let read_only = headers.iter().find(|header| header.kind == PT_GNU_RELRO).map(range);
    let start = match read_only {
        Some(part) => part.end.next_multiple_of(PAGE).clamp(written.start, written.end),
        None => written.start,
    };
    // The stub's page is behind all variables, or before them.
    match (own.start <= start, own.end >= written.end) {
        (true, _) => Ok(own.end.clamp(start, written.end)..written.end),
        (_, true) => Ok(start..own.start),
        _ => Err("the stub's page is in the middle of the variables: link with another linker".to_owned()),
    }
}

fn last_error() -> String {
    // SAFETY: the loader gives a C string that lives until its next call, or null.
    unsafe {
        let message = libc::dlerror();
        match message.is_null() {
            true => "the object can't be loaded".to_owned(),
            false => CStr::from_ptr(message).to_string_lossy().into_owned(),
        }
    }
}
