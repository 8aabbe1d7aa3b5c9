//! Allocations, in the host's own memory.

use std::alloc::Layout;
use std::any::Any;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::Arc;

use crosscut_adapter_api::{Memory, MemoryKind};

use crate::MockMemory;
use crate::engine::Engine;

/// What new memory holds: not zeros, so that nobody comes to rely on them.
const UNINITIALISED: u8 = 0xCD;

pub(crate) struct HostMemory {
    engine: Arc<Engine>,
    pub(crate) number: u64,
    kind: MemoryKind,
    size: NonZeroUsize,
    layout: Layout,
    first: NonNull<u8>,
}

// SAFETY: the pointer is an allocation that this object owns; commands, which run one at a time, and
// the host, by the contract of the queue's methods, never touch it at once.
unsafe impl Send for HostMemory {}
// SAFETY: as for `Send`.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// `None` if there is not enough memory.
    pub(crate) fn allocate(
        engine: &Arc<Engine>,
        number: u64,
        kind: MemoryKind,
        size: NonZeroUsize,
        align: usize,
    ) -> Option<Self> {
        let layout = Layout::from_size_align(size.get(), align).ok()?;
        // SAFETY: the size is not zero.
        let first = NonNull::new(unsafe { std::alloc::alloc(layout) })?;
        // SAFETY: the allocation is `size` bytes long and nobody else's yet.
        unsafe { first.write_bytes(UNINITIALISED, size.get()) };
        let memory = Self { engine: Arc::clone(engine), number, kind, size, layout, first };
        engine.allocated(memory.view());
        Some(memory)
    }

    /// All of it, for commands.
    pub(crate) fn view(&self) -> View {
        View { first: self.first, length: self.size.get() }
    }
}

impl Memory for HostMemory {
    fn size(&self) -> NonZeroUsize {
        self.size
    }

    fn host_address(&self) -> Option<NonNull<u8>> {
        let visible = self.kind != MemoryKind::Device && self.engine.memory == MockMemory::Unified;
        visible.then_some(self.first)
    }

    fn visit_on_host(&self, visit: &mut dyn FnMut(NonNull<u8>)) -> bool {
        self.host_address().filter(|_| !self.engine.is_ending()).map(visit).is_some()
    }

    fn device_address(&self) -> Option<u64> {
        (self.engine.memory != MockMemory::Objects).then(|| self.view().address())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        self.engine.freed(self.number, self.view().address());
        // SAFETY: allocated with this layout, by this object; the engine runs no command that uses
        // it any more.
        unsafe { std::alloc::dealloc(self.first.as_ptr(), self.layout) };
    }
}

/// A part of the mock's memory, as a running kernel sees it.
///
/// It is only reachable while a command runs: kernels get it by reference and cannot keep it. Nor can
/// they share it with other threads, since it is written through a shared reference:
///
/// ```compile_fail,E0277
/// fn shared<T: Sync>() {}
/// shared::<crosscut_adapter_mock::View>();
/// ```
#[derive(Debug)]
pub struct View {
    first: NonNull<u8>,
    length: usize,
}

// SAFETY: a view is an address with a length; it is used only by commands, which run one at a time
// and never after the memory was freed (`Engine::freed` withdraws them).
unsafe impl Send for View {}

impl View {
    /// Where it is.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.first.as_ptr().expose_provenance() as u64
    }

    /// How many bytes it has.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.length
    }

    /// The part from `offset` on; `None` if that is outside.
    pub(crate) fn from(&self, offset: usize) -> Option<Self> {
        let length = self.length.checked_sub(offset).filter(|length| *length > 0)?;
        // SAFETY: `offset` is less than the length, so the result is inside the same allocation.
        Some(Self { first: unsafe { self.first.add(offset) }, length })
    }

    /// Copies bytes at `offset` to `target`.
    ///
    /// # Panics
    /// If they are not all inside.
    pub fn read(&self, offset: usize, target: &mut [u8]) {
        self.check(offset, target.len());
        // SAFETY: the check above; `target` is the caller's own.
        unsafe { self.copy_to(offset, target.as_mut_ptr(), target.len()) };
    }

    /// Copies `source` to `offset`.
    ///
    /// # Panics
    /// If it does not fit.
    pub fn write(&self, offset: usize, source: &[u8]) {
        self.check(offset, source.len());
        // SAFETY: the check above; `source` is the caller's own.
        unsafe { self.copy_from(offset, source.as_ptr(), source.len()) };
    }

    fn check(&self, offset: usize, size: usize) {
        let fits = offset.checked_add(size).is_some_and(|end| end <= self.length);
        assert!(fits, "{size} bytes at {offset} are outside of {} bytes", self.length);
    }

    /// # Safety
    /// The range is inside, and `target` is valid for it.
    pub(crate) unsafe fn copy_to(&self, offset: usize, target: *mut u8, size: usize) {
        let source = self.first.as_ptr().wrapping_add(offset);
        // SAFETY: the caller vouches for both ranges. They may overlap: a host address is one of
        // the mock's own if the test made it so.
        unsafe { std::ptr::copy(source, target, size) };
    }

    /// # Safety
    /// The range is inside, and `source` is valid for it.
    pub(crate) unsafe fn copy_from(&self, offset: usize, source: *const u8, size: usize) {
        let target = self.first.as_ptr().wrapping_add(offset);
        // SAFETY: as in `copy_to`.
        unsafe { std::ptr::copy(source, target, size) };
    }
}
