//! What a device can do beyond what every device can.

use std::fmt;

/// An ability that some devices have and others have not.
///
/// ```
/// use crosscut::Feature;
///
/// let device = crosscut::default_device()?;
/// for feature in Feature::ALL {
///     println!("{}: {}", feature.name(), if device.has(*feature) { "yes" } else { "no" });
/// }
/// assert_eq!(Feature::Fp64.name(), "fp64");
///
/// // The strongest order that its atomics have.
/// use std::sync::atomic::Ordering;
/// let order = if device.has(Feature::AtomicSeqCst) {
///     Ordering::SeqCst
/// } else if device.has(Feature::AtomicAcqRel) {
///     Ordering::AcqRel
/// } else {
///     Ordering::Relaxed
/// };
/// println!("atomics up to {order:?}");
/// # Ok::<(), crosscut::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Feature {
    /// Kernels may use `f16`, half precision.
    Fp16,
    /// Kernels may use `f64`, double precision.
    Fp64,
    /// Kernels may use atomics of 64 bits.
    Atomic64,
    /// Atomic addition of `f32` is one instruction.
    AtomicFp32Add,
    /// Atomic minimum and maximum of `f32` are one instruction each.
    AtomicFp32MinMax,
    /// Atomic addition of `f64` is one instruction.
    AtomicFp64Add,
    /// Atomic minimum and maximum of `f64` are one instruction each.
    AtomicFp64MinMax,
    /// Atomics may acquire and release, as `Ordering::AcqRel` and its halves say; all may be relaxed.
    AtomicAcqRel,
    /// Atomics may be sequentially consistent, as `Ordering::SeqCst` says.
    AtomicSeqCst,
    /// Atomics may reach the whole device; all reach the work-group.
    AtomicScopeDevice,
    /// Atomics may reach all devices and the host, as `Scope::System` says.
    AtomicScopeSystem,
    /// Fences may acquire and release.
    FenceAcqRel,
    /// Fences may be sequentially consistent.
    FenceSeqCst,
    /// Fences may reach the whole device; all reach the work-group.
    FenceScopeDevice,
    /// Fences may reach all devices and the host.
    FenceScopeSystem,
    /// Items of a group form sub-groups that kernels may ask about.
    SubGroups,
    /// Items of a sub-group may exchange values directly.
    SubGroupShuffle,
    /// Memory of the device that has an address.
    UsmDevice,
    /// Memory of the host that the device reaches by its address.
    UsmHost,
    /// Memory that moves between host and device under one address.
    UsmShared,
    /// Any memory of the host is reached by its address.
    UsmSystem,
    /// Queues may run commands out of order.
    OutOfOrderQueue,
    /// Queues may measure when commands ran.
    QueueProfiling,
    /// It can be cut into sub-devices of the same size.
    PartitionEqually,
    /// It can be cut into sub-devices of given sizes.
    PartitionByCounts,
}

impl Feature {
    /// All of them, in the order of the list above.
    pub const ALL: &'static [Self] = &[
        Self::Fp16,
        Self::Fp64,
        Self::Atomic64,
        Self::AtomicFp32Add,
        Self::AtomicFp32MinMax,
        Self::AtomicFp64Add,
        Self::AtomicFp64MinMax,
        Self::AtomicAcqRel,
        Self::AtomicSeqCst,
        Self::AtomicScopeDevice,
        Self::AtomicScopeSystem,
        Self::FenceAcqRel,
        Self::FenceSeqCst,
        Self::FenceScopeDevice,
        Self::FenceScopeSystem,
        Self::SubGroups,
        Self::SubGroupShuffle,
        Self::UsmDevice,
        Self::UsmHost,
        Self::UsmShared,
        Self::UsmSystem,
        Self::OutOfOrderQueue,
        Self::QueueProfiling,
        Self::PartitionEqually,
        Self::PartitionByCounts,
    ];

    /// Its name in messages and tools; SYCL's name of the aspect where it has one.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fp16 => "fp16",
            Self::Fp64 => "fp64",
            Self::Atomic64 => "atomic64",
            Self::AtomicFp32Add => "atomic_fp32_add",
            Self::AtomicFp32MinMax => "atomic_fp32_min_max",
            Self::AtomicFp64Add => "atomic_fp64_add",
            Self::AtomicFp64MinMax => "atomic_fp64_min_max",
            Self::AtomicAcqRel => "atomic_order_acq_rel",
            Self::AtomicSeqCst => "atomic_order_seq_cst",
            Self::AtomicScopeDevice => "atomic_scope_device",
            Self::AtomicScopeSystem => "atomic_scope_system",
            Self::FenceAcqRel => "fence_order_acq_rel",
            Self::FenceSeqCst => "fence_order_seq_cst",
            Self::FenceScopeDevice => "fence_scope_device",
            Self::FenceScopeSystem => "fence_scope_system",
            Self::SubGroups => "sub_groups",
            Self::SubGroupShuffle => "sub_group_shuffle",
            Self::UsmDevice => "usm_device_allocations",
            Self::UsmHost => "usm_host_allocations",
            Self::UsmShared => "usm_shared_allocations",
            Self::UsmSystem => "usm_system_allocations",
            Self::OutOfOrderQueue => "out_of_order_queue",
            Self::QueueProfiling => "queue_profiling",
            Self::PartitionEqually => "partition_equally",
            Self::PartitionByCounts => "partition_by_counts",
        }
    }

    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of features.
///
/// ```
/// use crosscut::{Feature, Features};
///
/// let wanted = Features::NONE.with(Feature::Fp64).with_if(true, Feature::Fp16);
/// let there = wanted.without(Feature::Fp16);
/// assert!(there.has(Feature::Fp64) && !there.is_empty());
/// assert!(wanted.missing_from(there).iter().eq([Feature::Fp16]));
/// assert_eq!(there.and(wanted), wanted);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Features(u32);

impl Features {
    /// None at all.
    pub const NONE: Self = Self(0);

    /// What a device has whose atomics and fences are those of Rust's whole memory model, in every scope.
    pub const WHOLE_MEMORY_MODEL: Self = Self::NONE
        .with(Feature::AtomicAcqRel)
        .with(Feature::AtomicSeqCst)
        .with(Feature::AtomicScopeDevice)
        .with(Feature::AtomicScopeSystem)
        .with(Feature::FenceAcqRel)
        .with(Feature::FenceSeqCst)
        .with(Feature::FenceScopeDevice)
        .with(Feature::FenceScopeSystem);

    /// Those of both.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Whether this one is among them.
    #[must_use]
    pub fn has(self, feature: Feature) -> bool {
        self.0 & feature.bit() != 0
    }

    /// The same with this one.
    #[must_use]
    pub const fn with(self, feature: Feature) -> Self {
        Self(self.0 | feature.bit())
    }

    /// The same without this one.
    #[must_use]
    pub const fn without(self, feature: Feature) -> Self {
        Self(self.0 & !feature.bit())
    }

    /// The same with this one if it is there.
    #[must_use]
    pub const fn with_if(self, there: bool, feature: Feature) -> Self {
        if there { self.with(feature) } else { self }
    }

    /// Those of `self` that `others` has not.
    #[must_use]
    pub const fn missing_from(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Each of them, in the order of [`Feature::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::ALL.iter().copied().filter(move |feature| self.has(*feature))
    }
}

impl FromIterator<Feature> for Features {
    fn from_iter<I: IntoIterator<Item = Feature>>(features: I) -> Self {
        features.into_iter().fold(Self::NONE, Self::with)
    }
}

/// Their names, with commas between.
impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for feature in self.iter() {
            write!(f, "{separator}{feature}")?;
            separator = ", ";
        }
        Ok(())
    }
}

impl fmt::Debug for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{Feature, Features};

    #[test]
    fn the_list_has_every_feature_once_and_in_order() {
        let names: std::collections::HashSet<_> =
            Feature::ALL.iter().map(|feature| feature.name()).collect();
        assert_eq!(names.len(), Feature::ALL.len());
        assert!(Feature::ALL.is_sorted());
        let last = Feature::ALL.last().map(|&feature| feature as usize);
        assert_eq!(last, Some(Feature::ALL.len() - 1));
    }

    #[test]
    fn a_set_has_what_was_put_in_and_nothing_else() {
        let set: Features = [Feature::Fp64, Feature::Fp16].into_iter().collect();
        assert_eq!(set.to_string(), "fp16, fp64");
        assert!(set.has(Feature::Fp64) && !set.has(Feature::Atomic64));
        assert_eq!(set.without(Feature::Fp16).to_string(), "fp64");
        let device = Features::NONE.with(Feature::Fp16).with_if(false, Feature::Fp64);
        assert_eq!(set.missing_from(device).to_string(), "fp64");
        assert!(device.missing_from(set).is_empty());
    }
}
