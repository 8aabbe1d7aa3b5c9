//! Work-groups on the host: items that wait for one another, on one thread.
//!
//! The first item of a group leads: it runs on the thread's own stack. If it ends without having met a
//! barrier, so do the others, and they run one after the other as if there were no groups: a kernel
//! without barriers pays nothing. At the leader's first barrier every other item gets a stack of its
//! own and runs until it waits too; from then on each barrier of the leader lets all others go one
//! barrier further.
//!
//! Items with consecutive indices form sub-groups, which may stop on their own: those of one sub-group
//! go in step from stop to stop, and meet the others at barriers. What the leader's sub-group does until
//! then, it does first.
//!
//! Invariants:
//! - All items of a group, or of a sub-group, wait at the same barrier, or the group fails and says where they are. So two
//!   items are never at different steps of sharing the same memory.
//! - No item comes back from waiting once its group has failed.
//! - When a group fails, every item of it is unwound: what it holds is dropped.

mod memory;
mod stacks;

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::panic::{Location, resume_unwind};

use corosensei::{Coroutine, CoroutineResult, Yielder};
use crosscut_adapter_api::NativePanic;

pub use memory::LocalMemory;
use stacks::Stack;

/// Waits at a barrier: the item's [`Waiter::data`], the place of the barrier in the program, which of
/// several barriers at that place it is, and the memory it is about, 0 if none. Answers whether all
/// items have come: an item that unwinds waits for nobody.
///
/// # Safety
/// Called by the item that the waiter was made for, while it runs.
pub type Wait = unsafe fn(*const (), &'static Location<'static>, u32, usize) -> bool;

/// Barriers from this one on, of those at one place, are of the item's sub-group. This one itself waits
/// for nobody: it says that the group has sub-groups.
pub const SUB_GROUP_STEP: u32 = 1 << 16;

/// This one waits for nobody either: the item unwinds while others may still look at what it has shown
/// them. Nobody does after that: the group fails, also if the kernel catches the panic.
pub const LEFT_STEP: u32 = u32::MAX;

/// How an item waits for its group.
#[derive(Clone, Copy, Debug)]
pub struct Waiter {
    /// What it calls.
    pub wait: Wait,
    /// What it hands over.
    pub data: *const (),
}

/// What ends an item whose group has failed. It is no panic of its own.
struct Abandoned;

/// One barrier of the program, as far as items can tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stop {
    place: &'static Location<'static>,
    step: u32,
    memory: usize,
}

impl Stop {
    /// Whether only the item's sub-group waits here.
    fn is_of_sub_group(self) -> bool {
        self.step >= SUB_GROUP_STEP
    }

    #[track_caller]
    fn here() -> Self {
        Self { place: Location::caller(), step: 0, memory: 0 }
    }
}

type Outcome = Result<(), NativePanic>;

/// The items of a group, for [`run`].
#[derive(Clone, Copy)]
pub struct Items<'g> {
    /// How many there are; at least one.
    pub count: usize,
    /// How many of them form a sub-group; at least one. The last may have fewer.
    pub sub_group: usize,
    /// Runs one of them, given its index in the group; does not unwind.
    pub member: &'g dyn Fn(usize, Waiter) -> Outcome,
    /// Its linear index in the whole launch.
    pub linear: &'g dyn Fn(usize) -> u64,
}

impl std::fmt::Debug for Items<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Items").field("count", &self.count).finish_non_exhaustive()
    }
}

/// Runs one work-group. `leader` runs the first item; `rest` runs all others one after the other, and
/// is called if the leader met no barrier. Neither unwinds.
///
/// # Errors
/// The panic of an item, or items that wait at different barriers.
pub fn run(
    items: Items<'_>,
    leader: impl FnOnce(Waiter) -> Outcome,
    rest: impl FnOnce(Waiter) -> Outcome,
) -> Outcome {
    let group = Group {
        items,
        others: RefCell::new(Vec::new()),
        started: Cell::new(false),
        failed: Cell::new(false),
        failure: RefCell::new(None),
        left: RefCell::new(None),
    };
    let data = (&raw const group).cast();
    let led = leader(Waiter { wait: leader_waits, data });
    if let Err(panic) = led {
        group.fail(panic);
    } else if group.started.get() {
        // A leader that has caught the end of its group comes here too, and items of it have ended.
        if !group.has_failed() {
            group.advance(None);
        }
    } else if let Err(panic) = rest(Waiter { wait: nobody_waits, data }) {
        // Only now is it known which item waited in vain.
        let item = panic.item;
        group.failure.borrow_mut().get_or_insert(panic).item = item;
    }
    group.release();
    group.settle();
    group.failure.into_inner().map_or(Ok(()), Err)
}

struct Group<'g> {
    items: Items<'g>,
    /// The items after the leader that wait, in order.
    others: RefCell<Vec<Coroutine<(), Stop, Outcome, Stack>>>,
    /// Whether the leader has met a barrier, or asked for its sub-group.
    started: Cell<bool>,
    /// Whether the group cannot go on, which every item asks when it waits.
    failed: Cell<bool>,
    /// Why: what came first.
    failure: RefCell<Option<NativePanic>>,
    /// What to tell of an item that has left in the middle, unless it ends by its panic: that says more.
    left: RefCell<Option<NativePanic>>,
}

impl Group<'_> {
    fn fail(&self, panic: NativePanic) {
        self.failed.set(true);
        self.failure.borrow_mut().get_or_insert(panic);
    }

    fn has_failed(&self) -> bool {
        self.failed.get()
    }

    /// The item with this index unwinds from where others may still look at what it has shown them.
    fn leave(&self, index: usize, stop: Stop) {
        if !self.has_failed() {
            *self.left.borrow_mut() = Some(self.fault(index, LEFT.to_owned(), stop));
            self.failed.set(true);
        }
    }

    /// The item that has left has not ended by its panic: the kernel has caught that.
    fn settle(&self) {
        if let Some(left) = self.left.take() {
            self.fail(left);
        }
    }

    /// Ends this item: its group has failed.
    fn abandon(&self) -> ! {
        self.settle();
        if cfg!(panic = "abort") {
            // This is the end of the process, and unlike a panic of the user's nothing has said why.
            self.failure.borrow().iter().for_each(say);
        }
        resume_unwind(Box::new(Abandoned))
    }

    /// A failure of the item with this index in the group.
    fn fault(&self, index: usize, message: String, stop: Stop) -> NativePanic {
        NativePanic {
            item: (self.items.linear)(index),
            message,
            file: stop.place.file().to_owned(),
            line: stop.place.line(),
            column: stop.place.column(),
        }
    }

    /// Lets every other item run to the leader's next stop, or to its end with it. Of a stop of the
    /// leader's sub-group only that need know.
    fn advance(&self, leader: Option<Stop>) {
        self.started.set(true);
        let Items { count, sub_group, .. } = self.items;
        let is_of_sub_group = |stop: Option<Stop>| stop.is_some_and(Stop::is_of_sub_group);
        if !self.follow(1..sub_group.min(count), 0, leader) || is_of_sub_group(leader) {
            return;
        }
        for first in (sub_group..count).step_by(sub_group) {
            // A sub-group goes in step from stop to stop, until it is where all items must be.
            loop {
                let Some(stop) = self.step(first) else { return };
                if !is_of_sub_group(stop) && stop != leader {
                    return self.fail(self.apart(first, stop, 0, leader));
                }
                if !self.follow(first + 1..(first + sub_group).min(count), first, stop) {
                    return;
                }
                if !is_of_sub_group(stop) {
                    break;
                }
            }
        }
    }

    /// Lets these items run to their next stop, which must be where `first` is: at this stop, or at its
    /// end. Answers whether they are.
    fn follow(&self, items: Range<usize>, first: usize, expected: Option<Stop>) -> bool {
        for index in items {
            let Some(stop) = self.step(index) else { return false };
            if stop != expected {
                self.fail(self.apart(index, stop, first, expected));
                return false;
            }
        }
        true
    }

    /// Lets an item run to its next stop, and answers where that is; inside, `None` for its end, and
    /// outside for a failure, which is noted.
    fn step(&self, index: usize) -> Option<Option<Stop>> {
        // Items start in order.
        let is_new = self.others.borrow().len() < index;
        let result = match is_new {
            true => self.start(index)?,
            // Borrowed while the item runs: items do not touch the list.
            false => self.others.borrow_mut()[index - 1].resume(()),
        };
        match result {
            // Also an item that has left may come to its end.
            CoroutineResult::Return(Ok(())) if self.has_failed() => None,
            CoroutineResult::Yield(stop) => Some(Some(stop)),
            CoroutineResult::Return(Ok(())) => Some(None),
            CoroutineResult::Return(Err(panic)) => {
                self.fail(panic);
                None
            }
        }
    }

    /// The fault of an item that is not where the first of its group, or sub-group, is.
    fn apart(
        &self,
        index: usize,
        stop: Option<Stop>,
        first: usize,
        expected: Option<Stop>,
    ) -> NativePanic {
        let among_sub_group = [stop, expected].into_iter().flatten().any(Stop::is_of_sub_group);
        let (group, rule) = match among_sub_group {
            true => ("sub-group", SUB_GROUP_RULE),
            false => ("work-group", RULE),
        };
        match (stop, expected) {
            (Some(stop), Some(expected)) => self.fault(
                index,
                format!(
                    "items of one {group} wait at different barriers: this one, and the first item of \
                     its group at {}: {rule}, with the same memory",
                    expected.place
                ),
                stop,
            ),
            (Some(stop), None) => self.fault(index, lonely(group, rule), stop),
            (None, at) => {
                let message = format!(
                    "the first item of a {} waits at a barrier that others have ended without, item {} of its \
                     {group} among them: {rule}",
                    if first == 0 { group } else { "sub-group" },
                    (self.items.linear)(index)
                );
                // Two items at their ends are not apart.
                self.fault(first, message, at.unwrap_or(Stop::here()))
            }
        }
    }

    /// Gives an item its stack, and lets it run to its first barrier.
    fn start(&self, index: usize) -> Option<CoroutineResult<Stop, Outcome>> {
        let stack = match stacks::take(index) {
            Ok(stack) => stack,
            Err(error) => {
                self.fail(NativePanic {
                    item: (self.items.linear)(index),
                    message: format!(
                        "no memory for the stacks of a work-group of {} items that wait for one \
                         another ({error}): make groups smaller; each stack takes two mappings, of which \
                         Linux gives a process as many as vm.max_map_count says",
                        self.items.count
                    ),
                    file: String::new(),
                    line: 0,
                    column: 0,
                });
                return None;
            }
        };
        let group = std::ptr::from_ref(self).cast::<Group<'static>>();
        let body = move |yielder: &Yielder<(), Stop>, ()| {
            // SAFETY: the group outlives its items: `run` returns after `release`, which ends them.
            let group = unsafe { &*group };
            let member = Member { yielder, group, index };
            (group.items.member)(
                index,
                Waiter { wait: member_waits, data: (&raw const member).cast() },
            )
        };
        // SAFETY: what the body borrows, the group, lives until the coroutine has been dropped.
        let coroutine = unsafe { Coroutine::with_stack_unchecked(stack, body) };
        let mut others = self.others.borrow_mut();
        others.push(coroutine);
        let coroutine = others.last_mut()?;
        Some(coroutine.resume(()))
    }

    /// Ends the items that still wait, which is so after a failure only, and keeps their stacks.
    fn release(&self) {
        for mut coroutine in self.others.take() {
            while !coroutine.done() {
                // With a failure noted, waiting unwinds.
                coroutine.resume(());
            }
            stacks::give_back(coroutine.into_stack());
        }
    }
}

const RULE: &str = "every item of a group must come to the same barriers";
const SUB_GROUP_RULE: &str = "every item of a sub-group must make the same calls of it";
const LEFT: &str = "an item panicked in the middle of what its work-group computes together, and the kernel caught it: \
                    the group cannot go on without the item's value";

/// Tells of a failure on the standard error. Of which item is known only where something unwinds.
fn say(NativePanic { message, file, line, column, .. }: &NativePanic) {
    use std::io::Write as _;
    // Without a standard error nobody is left to be told.
    let _ = writeln!(
        std::io::stderr(),
        "crosscut: a kernel ended at {file}:{line}:{column}: {message}"
    );
}

fn lonely(group: &str, rule: &str) -> String {
    format!(
        "an item waits at a barrier that the first item of its {group} has ended without: {rule}"
    )
}

/// What an item on a stack of its own hands to its barriers.
struct Member<'c> {
    yielder: &'c Yielder<(), Stop>,
    group: &'c Group<'c>,
    index: usize,
}

/// # Safety
/// As [`Wait`]; `data` is the [`Group`] of this leader.
unsafe fn leader_waits(
    data: *const (),
    place: &'static Location<'static>,
    step: u32,
    memory: usize,
) -> bool {
    // SAFETY: the caller's promise.
    let group = unsafe { &*data.cast::<Group<'_>>() };
    if step == LEFT_STEP {
        group.leave(0, Stop { place, step, memory });
        return false;
    }
    if std::thread::panicking() {
        return false;
    }
    if step == SUB_GROUP_STEP {
        // From now on items run as if they had met a barrier: some may wait for their sub-group.
        group.started.set(true);
        return true;
    }
    if !group.has_failed() {
        group.advance(Some(Stop { place, step, memory }));
    }
    if group.has_failed() {
        group.abandon();
    }
    true
}

/// # Safety
/// As [`Wait`]; `data` is the [`Member`] of this item.
unsafe fn member_waits(
    data: *const (),
    place: &'static Location<'static>,
    step: u32,
    memory: usize,
) -> bool {
    // SAFETY: the caller's promise.
    let member = unsafe { &*data.cast::<Member<'_>>() };
    if step == LEFT_STEP {
        member.group.leave(member.index, Stop { place, step, memory });
        return false;
    }
    if std::thread::panicking() {
        return false;
    }
    if step == SUB_GROUP_STEP {
        return true;
    }
    if !member.group.has_failed() {
        member.yielder.suspend(Stop { place, step, memory });
    }
    if member.group.has_failed() {
        member.group.abandon();
    }
    true
}

/// The wait of items that run one after the other because their leader met no barrier.
///
/// # Safety
/// As [`Wait`]; `data` is the [`Group`] of this item.
unsafe fn nobody_waits(
    data: *const (),
    place: &'static Location<'static>,
    step: u32,
    memory: usize,
) -> bool {
    if std::thread::panicking() {
        return false;
    }
    // SAFETY: the caller's promise.
    let group = unsafe { &*data.cast::<Group<'_>>() };
    let stop = Stop { place, step, memory };
    let message = match stop.is_of_sub_group() {
        true => "an item asks for its sub-group, and the first item of its work-group has ended without: \
                 if one item of a work-group asks, all must"
            .to_owned(),
        false => lonely("work-group", RULE),
    };
    // Which item it is, `run` knows.
    group.fail(group.fault(0, message, stop));
    group.abandon()
}
