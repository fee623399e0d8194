//! The program's shared object in memory, with its variables as they were before the first execution.
//!
//! Variables are put back before each execution. Pages that no execution has written yet are read-only; the
//! first write of one faults, and from then on the page is writable and among those that are put back. So to
//! begin an execution costs what the program writes, not what it declares, and no write can be missed.
//!
//! Invariants: `variables` is the writable part of the object without the word of the stubs, which is on a
//! page of its own; `saved` has its content before any code of the program ran; a page that is not hot is as
//! saved.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::ops::Range;
use std::path::Path;
use std::ptr;

use mazurka_threads::lifetime::ExecutionState;
use object::elf::{self, PT_GNU_RELRO, PT_LOAD, PT_TLS, ProgramHeader64};
use object::read::elf::ProgramHeader;
use object::{LittleEndian, Object, ObjectSection, SectionFlags};

use super::layout::{PAGE, WRITABLE, bytes};
use super::redzones::{Redzone, redzones};
use crate::driver::ElfFile;
use crate::runtime::system::stubs;

/// Of the segments of a file that is for this machine.
type Header = ProgramHeader64<LittleEndian>;

/// The template of thread-local variables.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TlsTemplate {
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
    /// What is between them, in the order of addresses.
    pub(crate) redzones: Vec<Redzone>,
    saved: Vec<u8>,
    /// By page of `variables`.
    is_hot: Vec<bool>,
    hot: Vec<Range<usize>>,
    pub(crate) tls: TlsTemplate,
    pub(crate) main: usize,
    /// Whether it has C++ in it, whose objects have destructors.
    pub(crate) unwinds: bool,
    /// Where the stubs leave the address that they return to.
    pub(crate) caller: *mut usize,
    /// What calls functions of the program: itself first, then three arguments.
    pub(crate) enter: usize,
}

impl Image {
    /// Loads an object and connects its stubs.
    pub(crate) fn load(object: &Path) -> Result<Image, String> {
        let path = CString::new(object.as_os_str().as_encoded_bytes())
            .map_err(|_| "the path of the object has a zero byte".to_owned())?;
        // SAFETY: the path is a C string. The object's constructors were taken out, or call stubs only.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(last_error());
        }
        let content = std::fs::read(object).map_err(|error| error.to_string())?;
        let file = ElfFile::parse(&*content).map_err(|error| error.to_string())?;
        // SAFETY: the handle is that of an object that was just loaded.
        unsafe { Image::of(handle, &file) }
    }

    /// Where a global function or variable of the program is.
    pub(crate) fn symbol(&self, name: &CStr) -> Option<usize> {
        // SAFETY: the handle is that of a loaded object, and the name a C string.
        let found = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        (!found.is_null()).then(|| found.expose_provenance())
    }

    /// # Safety
    /// The handle must be that of the file, loaded, whose code has not run.
    unsafe fn of(handle: *mut libc::c_void, file: &ElfFile<'_>) -> Result<Image, String> {
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
        let headers = file.elf_program_headers();
        let mut variables = variables(headers, base, caller..caller + PAGE)?;
        if let Some(end) = end_of_variables(file) {
            // What is behind them, up to the stub's page, is nobody's.
            variables.end = variables.end.min(base + end).max(variables.start);
        }
        let tls = headers.iter().find(|header| kind(header) == PT_TLS);
        let tls = tls.map_or(TlsTemplate::default(), |header| TlsTemplate {
            start: range(header, base).start,
            filled: header.p_filesz(LittleEndian) as usize,
            size: range(header, base).len(),
            align: (header.p_align(LittleEndian) as usize).max(1),
        });
        let loaded = headers.iter().filter(|header| kind(header) == PT_LOAD);
        let end = loaded.map(|header| range(header, base).end).max().unwrap_or(base);
        let pages = variables.len().div_ceil(PAGE) + 1;
        let image = Image {
            handle,
            base,
            extent: base..end,
            saved: bytes(variables.start, variables.end),
            redzones: redzones(file),
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
        let access = if writable { WRITABLE } else { libc::PROT_READ };
        if from < to {
            // SAFETY: the pages hold variables of the program and nothing else: the stub's tables and what is
            // read-only after relocation begin and end at pages. To write a read-only one faults: see
            // `first_write`.
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
        self.hot.iter().map(|range| (range.start, bytes(range.start, range.end))).collect()
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
        // SAFETY: the object was loaded by us; no code of it runs, and its destructors were taken out.
        unsafe { libc::dlclose(self.handle) };
    }
}

/// The beginning of what the loader knows of an object.
#[repr(C)]
struct LinkMap {
    address: usize,
}

/// Where the variables of an object end, relative to where it is loaded, if its sections tell.
fn end_of_variables(file: &ElfFile<'_>) -> Option<usize> {
    let variables = file.sections().filter(|section| {
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else { return false };
        let has = |flag: elf::SectionFlags| sh_flags & flag == flag;
        let variable = has(elf::SHF_ALLOC) && has(elf::SHF_WRITE) && !has(elf::SHF_TLS);
        variable && section.name() != Ok(stubs::SECTION)
    });
    variables.map(|section| (section.address() + section.size()) as usize).max()
}

fn kind(header: &Header) -> elf::ProgramType {
    header.p_type(LittleEndian)
}

/// Where a segment is.
fn range(header: &Header, base: usize) -> Range<usize> {
    let start = base + header.p_vaddr(LittleEndian) as usize;
    start..start + header.p_memsz(LittleEndian) as usize
}

/// The writable part of an object that is neither read-only after relocation nor the stub's.
fn variables(headers: &[Header], base: usize, own: Range<usize>) -> Result<Range<usize>, String> {
    let is_written =
        |header: &&Header| kind(header) == PT_LOAD && header.p_flags(LittleEndian) & elf::PF_W == elf::PF_W;
    let written: Vec<Range<usize>> =
        headers.iter().filter(is_written).map(|header| range(header, base)).collect();
    let [written] = &written[..] else {
        return Err(
            "the object has several writable segments: link it without a script of your own".to_owned()
        );
    };
    let read_only = headers.iter().find(|header| kind(header) == PT_GNU_RELRO);
    let start = match read_only.map(|header| range(header, base)) {
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
