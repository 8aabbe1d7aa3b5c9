//! Kernels whose atomics and fences reach further, or order more, than a device's do.

mod program;

use crosscut_adapter_api::{Feature, Features};
use crosscut_adapter_mock::{Call, Mock, MockOptions};
use crosscut_image::encode;
use crosscut_runtime::{ErrorKind, Event};
use program::{device, image, kernel, launch, queue, register_bytes};

/// SPIR-V's numbers of scopes.
const SYSTEM: u32 = 0;
const DEVICE: u32 = 1;
const WORK_GROUP: u32 = 2;
const SUB_GROUP: u32 = 3;

/// Orders, with global memory where they order anything.
const RELAXED: u32 = 0;
const ACQUIRE: u32 = 0x202;
const ACQUIRE_RELEASE: u32 = 0x208;
const SEQUENTIALLY_CONSISTENT: u32 = 0x210;

/// The shape of a module with one instruction that has a scope and an order, the constants 1 and 2.
fn module(scope: u32, order: u32, instruction: &[u32]) -> Vec<u8> {
    let mut words = vec![0x0723_0203, 0x0001_0200, 0, 16, 0];
    let mut put = |instruction: &[u32]| {
        words.push((instruction.len() as u32) << 16 | instruction[0]);
        words.extend_from_slice(&instruction[1..]);
    };
    put(&[17, 6]);
    put(&[14, 2, 2]);
    put(&[43, 9, 1, scope]);
    put(&[43, 9, 2, order]);
    put(instruction);
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// With an `OpAtomicIAdd`.
fn atomic(scope: u32, order: u32) -> Vec<u8> {
    module(scope, order, &[234, 9, 3, 4, 1, 2, 5])
}

/// With an `OpMemoryBarrier`.
fn fence(scope: u32, order: u32) -> Vec<u8> {
    module(scope, order, &[225, 1, 2])
}

fn mock_with(features: Features) -> Mock {
    let info = crosscut_adapter_api::DeviceInfo { features, ..Mock::device_info() };
    let mock = Mock::with(MockOptions { devices: vec![info], ..MockOptions::default() });
    mock.define_kernel("needs", |_| ());
    mock
}

fn all() -> Features {
    Feature::ALL.iter().copied().collect()
}

fn run(mock: &Mock, key: fn() -> u64) -> Result<Event, crosscut_runtime::Error> {
    launch(&queue(&device(mock)), key, 1, &[])
}

#[test]
fn every_order_and_scope_that_a_device_lacks_is_refused_by_its_name() {
    let needs = [
        (atomic(WORK_GROUP, ACQUIRE), Feature::AtomicAcqRel),
        (atomic(WORK_GROUP, ACQUIRE_RELEASE), Feature::AtomicAcqRel),
        (atomic(WORK_GROUP, SEQUENTIALLY_CONSISTENT), Feature::AtomicSeqCst),
        (atomic(DEVICE, RELAXED), Feature::AtomicScopeDevice),
        (atomic(SYSTEM, RELAXED), Feature::AtomicScopeSystem),
        (fence(WORK_GROUP, ACQUIRE), Feature::FenceAcqRel),
        (fence(WORK_GROUP, SEQUENTIALLY_CONSISTENT), Feature::FenceSeqCst),
        (fence(DEVICE, RELAXED), Feature::FenceScopeDevice),
        (fence(SYSTEM, RELAXED), Feature::FenceScopeSystem),
        (atomic(SUB_GROUP, RELAXED), Feature::SubGroups),
        (fence(SUB_GROUP, RELAXED), Feature::SubGroups),
    ];
    let images = (200..)
        .zip(&needs)
        .map(|(key, (module, _))| image(vec![kernel(key, "needs", vec![])], module.clone()));
    register_bytes(encode(&images.collect::<Vec<_>>()), 0);
    let keys: [fn() -> u64; 11] =
        [|| 200, || 201, || 202, || 203, || 204, || 205, || 206, || 207, || 208, || 209, || 210];
    for ((_, feature), key) in needs.into_iter().zip(keys) {
        let poor = mock_with(all().without(feature));
        let error = run(&poor, key).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KernelNotSupported);
        assert_eq!(
            error.message(),
            format!("kernel `test::needs` needs {feature}, which `mock` (mock) does not have")
        );
        assert!(error.help().is_some_and(|help| help.contains("choose a device")), "{error}");
        assert!(!poor.log().iter().any(|call| matches!(call, Call::Build { .. })), "{feature}");

        // It needs that one and no other.
        run(&mock_with(Features::NONE.with(feature)), key).unwrap().wait().unwrap();
    }
}

#[test]
fn what_every_device_has_runs_on_a_device_that_has_nothing_else() {
    let barrier = module(WORK_GROUP, SEQUENTIALLY_CONSISTENT, &[224, 1, 1, 2]);
    let modules = [atomic(WORK_GROUP, RELAXED), fence(WORK_GROUP, RELAXED), barrier];
    let images =
        (230..).zip(modules).map(|(key, module)| image(vec![kernel(key, "needs", vec![])], module));
    register_bytes(encode(&images.collect::<Vec<_>>()), 0);
    let keys: [fn() -> u64; 3] = [|| 230, || 231, || 232];
    for key in keys {
        run(&mock_with(Features::NONE), key).unwrap().wait().unwrap();
    }
}

#[test]
fn the_way_out_names_what_the_program_may_not_know_that_it_does() {
    let images = [(240, atomic(DEVICE, RELAXED)), (241, atomic(SYSTEM, SEQUENTIALLY_CONSISTENT))]
        .map(|(key, module)| image(vec![kernel(key, "needs", vec![])], module));
    register_bytes(encode(&images), 0);
    let poor = mock_with(Features::NONE);

    let error = run(&poor, || 240).unwrap_err();
    let help = error.help().unwrap();
    assert!(help.contains("`in_scope(Scope::WorkGroup, ..)`"), "{help}");
    assert!(help.contains("neither print nor panic"), "{help}");

    // All that is missing is named; the way out is that of the first.
    let error = run(&poor, || 241).unwrap_err();
    let message = error.message();
    assert!(
        message.contains("needs atomic_order_seq_cst, atomic_scope_system, which"),
        "{message}"
    );
    assert!(error.help().unwrap().contains("`AcqRel`"), "{error}");
}
