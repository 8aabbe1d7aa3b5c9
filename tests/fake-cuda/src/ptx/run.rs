//! Running a kernel: group by group, and in a group item by item from one barrier to the next.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use crosscut_adapter_cuda::abi::{self, DevicePointer, Status};

use super::instruction::{Operand, Place, Space, Special, Work};
use super::value::Type;
use super::{Kernel, Program};
use crate::memory::{Allocation, FREES, find};

/// `CUDA_ERROR_MISALIGNED_ADDRESS`.
const MISALIGNED: Status = 716;

/// How many instructions an item may take: a kernel that does not end is ended.
const PATIENCE: u64 = 1 << 33;

/// A launch with all that it needs.
pub(crate) struct Launch {
    pub(crate) program: Arc<Program>,
    pub(crate) kernel: usize,
    /// Where each variable is.
    pub(crate) variables: Vec<DevicePointer>,
    pub(crate) groups: [u32; 3],
    pub(crate) items: [u32; 3],
    pub(crate) parameters: Vec<u8>,
    /// The bytes of shared memory that the launch adds.
    pub(crate) shared: usize,
}

/// Runs all items of a launch.
pub(crate) fn run(launch: &Launch) -> Result<(), Status> {
    let kernel = &launch.program.kernels[launch.kernel];
    let mut known = None;
    for z in 0..launch.groups[2] {
        for y in 0..launch.groups[1] {
            for x in 0..launch.groups[0] {
                let shared = vec![0xA5; kernel.shared + launch.shared];
                let mut group = Group { launch, kernel, at: [x, y, z], shared, known };
                group.run()?;
                known = group.known;
            }
        }
    }
    Ok(())
}

/// A range of memory that was found, and how often something had been freed by then.
#[derive(Clone, Copy)]
struct Known {
    start: u64,
    end: u64,
    frees: usize,
}

struct Group<'a> {
    launch: &'a Launch,
    kernel: &'a Kernel,
    at: [u32; 3],
    shared: Vec<u8>,
    known: Option<Known>,
}

struct Item {
    at: [u32; 3],
    next: usize,
    registers: Vec<u64>,
}

impl Group<'_> {
    fn run(&mut self) -> Result<(), Status> {
        let [x, y, z] = self.launch.items;
        let mut waiting: BTreeMap<usize, Item> = (0..z)
            .flat_map(|z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z])))
            .map(|at| Item { at, next: 0, registers: vec![0; self.kernel.registers] })
            .enumerate()
            .collect();
        // Items that have returned count as arrived.
        while !waiting.is_empty() {
            let mut arrived = BTreeMap::new();
            for (number, mut item) in waiting {
                if self.until_barrier(&mut item)? {
                    arrived.insert(number, item);
                }
            }
            waiting = arrived;
        }
        Ok(())
    }

    /// Runs an item; whether it has come to a barrier, and not to its end.
    fn until_barrier(&mut self, item: &mut Item) -> Result<bool, Status> {
        let kernel = self.kernel;
        for _ in 0..PATIENCE {
            let Some(instruction) = kernel.instructions.get(item.next) else { return Ok(false) };
            item.next += 1;
            if let Some((register, wanted)) = instruction.guard
                && (item.registers[register] != 0) != wanted
            {
                continue;
            }
            match &instruction.work {
                Work::Return => return Ok(false),
                Work::Barrier => return Ok(true),
                Work::Fence => fence(Ordering::SeqCst),
                Work::Branch(target) => item.next = *target,
                work => self.step(item, work)?,
            }
        }
        Err(abi::CUDA_ERROR_LAUNCH_TIMEOUT)
    }

    fn value(&self, item: &Item, operand: Operand) -> u64 {
        let special = |of: &[u32; 3], dimension: usize| u64::from(of[dimension]);
        match operand {
            Operand::Register(register) => item.registers[register],
            Operand::Literal(bits) => bits,
            Operand::Variable(number) => self.launch.variables[number],
            Operand::Special(Special::Item, dimension) => special(&item.at, dimension),
            Operand::Special(Special::Items, dimension) => special(&self.launch.items, dimension),
            Operand::Special(Special::Group, dimension) => special(&self.at, dimension),
            Operand::Special(Special::Groups, dimension) => special(&self.launch.groups, dimension),
        }
    }

    fn step(&mut self, item: &mut Item, work: &Work) -> Result<(), Status> {
        let undefined = abi::CUDA_ERROR_LAUNCH_FAILED;
        let (to, value) = match *work {
            Work::Move { to, of, a } => (to, of.narrow(self.value(item, a))),
            Work::Two { what, of, to, a, b } => {
                let (a, b) = (self.value(item, a), self.value(item, b));
                (to, of.two(what, a, b).ok_or(undefined)?)
            }
            Work::Three { what, of, to, a, b, c } => {
                let (a, b) = (self.value(item, a), self.value(item, b));
                let c = self.value(item, c);
                let product = of.two(what, a, b).ok_or(undefined)?;
                let wide = what == super::value::Two::MulWide;
                let of = if wide { Type { size: 2 * of.size, ..of } } else { of };
                (to, of.two(super::value::Two::Add, product, c).ok_or(undefined)?)
            }
            Work::Not { of, to, a } => (to, of.narrow(!self.value(item, a))),
            Work::Compare { how, of, to, a, b } => {
                (to, of.compare(how, self.value(item, a), self.value(item, b)).into())
            }
            Work::Select { to, a, b, by } => {
                (to, self.value(item, if item.registers[by] != 0 { a } else { b }))
            }
            Work::Convert { into, from, to, a } => (to, into.convert(from, self.value(item, a))),
            Work::Load { space, of, to, from } => {
                let place = self.place(item, space, from, of.size)?;
                let mut bytes = [0; 8];
                // SAFETY: `place` found as many bytes there.
                unsafe { std::ptr::copy_nonoverlapping(place, bytes.as_mut_ptr(), of.size) };
                (to, u64::from_le_bytes(bytes))
            }
            Work::Store { space, of, to, a } => {
                let bytes = self.value(item, a).to_le_bytes();
                let place = self.place(item, space, to, of.size)?;
                // SAFETY: `place` found as many bytes there, which nobody else has a reference to.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, of.size) };
                return Ok(());
            }
            Work::Atomic { what, space, of, to, at, a } => {
                let a = self.value(item, a);
                let place = self.place(item, space, at, of.size)?;
                let after = |before: u64| of.two(what, before, a);
                let before = if of.size == 4 {
                    // SAFETY: `place` found as many bytes there, aligned.
                    let cell = unsafe { AtomicU32::from_ptr(place.cast()) };
                    cell.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |before| {
                        after(before.into()).map(|after| after as u32)
                    })
                    .map(u64::from)
                    .map_err(|_| undefined)?
                } else {
                    // SAFETY: as above.
                    let cell = unsafe { AtomicU64::from_ptr(place.cast()) };
                    cell.fetch_update(Ordering::SeqCst, Ordering::SeqCst, after)
                        .map_err(|_| undefined)?
                };
                let Some(to) = to else { return Ok(()) };
                (to, before)
            }
            Work::Return | Work::Barrier | Work::Fence | Work::Branch(_) => return Ok(()),
        };
        item.registers[to] = value;
        Ok(())
    }

    /// Where `size` bytes are that an item may use.
    fn place(
        &mut self,
        item: &Item,
        space: Space,
        place: Place,
        size: usize,
    ) -> Result<*mut u8, Status> {
        let address = self.value(item, place.base).wrapping_add(place.distance);
        if !address.is_multiple_of(size as u64) {
            return Err(MISALIGNED);
        }
        let inside = |bytes: &[u8]| {
            let start = usize::try_from(address).ok()?;
            (start.checked_add(size)? <= bytes.len()).then_some(start)
        };
        let found = match space {
            Space::Global => self
                .is_allocated(address, size)
                .then(|| std::ptr::with_exposed_provenance_mut(address as usize)),
            Space::Shared => {
                inside(&self.shared).map(|at| self.shared.as_mut_ptr().wrapping_add(at))
            }
            Space::Parameter => {
                let all = &self.launch.parameters;
                // Kernels only read their parameters.
                inside(all).map(|at| all.as_ptr().cast_mut().wrapping_add(at))
            }
        };
        found.ok_or(abi::CUDA_ERROR_ILLEGAL_ADDRESS)
    }

    fn is_allocated(&mut self, address: u64, size: usize) -> bool {
        let (end, frees) = (address.wrapping_add(size as u64), FREES.load(Ordering::SeqCst));
        if let Some(known) = self.known
            && known.frees == frees
            && (known.start..known.end).contains(&address)
            && end <= known.end
        {
            return true;
        }
        let found: Option<Arc<Allocation>> = find(address, size);
        self.known = found.map(|allocation| {
            let (start, size) = (allocation.start, allocation.size as u64);
            Known { start, end: start + size, frees }
        });
        self.known.is_some()
    }
}
