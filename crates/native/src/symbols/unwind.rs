//! Who called a function, by the tables that exceptions use.

use std::cell::RefCell;
use std::collections::HashMap;

use gimli::{BaseAddresses, CfaRule, EhFrame, Register, RegisterRule, UnwindContext, UnwindSection, X86_64};
use object::{Object, ObjectSection};

use super::{Bytes, Frame};

/// Where the address that a function returns to and the frame pointer of its caller are.
#[derive(Clone, Copy, Debug)]
struct UnwindRule {
    register: Register,
    /// From that register to the top of the frame; the return address is right below.
    offset: i64,
    /// From the top of the frame to where `rbp` was saved, if it was.
    base: Option<i64>,
}

/// The tables of an object.
pub struct UnwindTables {
    section: EhFrame<Bytes>,
    bases: BaseAddresses,
    /// By address.
    known: RefCell<HashMap<u64, Option<UnwindRule>>>,
}

impl UnwindTables {
    /// Of a file, with the bytes of its section.
    pub fn new(file: &object::File<'_>, bytes: Bytes) -> UnwindTables {
        let at = |name| file.section_by_name(name).map_or(0, |section| section.address());
        let bases = BaseAddresses::default().set_eh_frame(at(".eh_frame")).set_text(at(".text"));
        let mut section = EhFrame::from(bytes);
        section.set_address_size(8);
        UnwindTables { section, bases, known: RefCell::default() }
    }

    /// The frame of who called a function.
    pub fn caller(&self, frame: Frame, read: &dyn Fn(u64) -> Option<u64>) -> Option<Frame> {
        let address = frame.place.checked_sub(1)?;
        let rule = *self.known.borrow_mut().entry(address).or_insert_with(|| self.rule(address));
        let rule = rule?;
        let from = match rule.register {
            X86_64::RSP => frame.stack,
            X86_64::RBP => frame.base,
            _ => return None,
        };
        let top = from.checked_add_signed(rule.offset).filter(|&top| top > frame.stack)?;
        let place = read(top.checked_sub(8)?)?;
        let base = match rule.base {
            Some(offset) => read(top.checked_add_signed(offset)?)?,
            None => frame.base,
        };
        Some(Frame { place, stack: top, base })
    }

    fn rule(&self, address: u64) -> Option<UnwindRule> {
        let entry = self.section.fde_for_address(&self.bases, address, EhFrame::cie_from_offset).ok()?;
        let mut context = UnwindContext::new();
        let row = entry.unwind_info_for_address(&self.section, &self.bases, &mut context, address).ok()?;
        let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else { return None };
        let base = match row.register(X86_64::RBP) {
            Some(RegisterRule::Offset(offset)) => Some(offset),
            _ => None,
        };
        Some(UnwindRule { register: *register, offset: *offset, base })
    }
}
