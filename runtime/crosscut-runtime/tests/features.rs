//! Kernels that need what a device has not.

mod program;

use crosscut_adapter_api::{Feature, Features};
use crosscut_adapter_mock::{Call, Mock, MockOptions};
use crosscut_image::encode;
use crosscut_runtime::ErrorKind;
use program::{device, image, kernel, launch, queue, register_bytes};

/// A module that declares these capabilities and has nothing else in it.
fn declaring(capabilities: &[u32]) -> Vec<u8> {
    let mut words = vec![0x0723_0203, 0x0001_0200, 0, 1, 0];
    for capability in capabilities {
        words.extend([2 << 16 | 17, *capability]);
    }
    words.extend([3 << 16 | 14, 2, 2]);
    words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect()
}

fn mock_without(missing: &[Feature]) -> Mock {
    let mut info = Mock::device_info();
    info.features = missing.iter().fold(info.features, |set, &feature| set.without(feature));
    Mock::with(MockOptions { devices: vec![info], ..MockOptions::default() })
}

#[test]
fn a_missing_feature_is_named_at_submit_and_no_driver_is_asked_to_build() {
    // Kernel, Int64, Float64, Int64Atomics.
    let doubles = image(vec![kernel(41, "doubles", vec![])], declaring(&[6, 11, 10, 12]));
    let plain = image(vec![kernel(42, "plain", vec![])], declaring(&[6, 11]));
    register_bytes(encode(&[doubles, plain]), 0);

    let mock = mock_without(&[Feature::Fp64, Feature::Atomic64]);
    mock.define_kernel("plain", |_| ());
    let poor = device(&mock);
    assert!(!poor.has(Feature::Fp64) && poor.has(Feature::Fp16));
    let queue_of_poor = queue(&poor);
    let error = launch(&queue_of_poor, || 41, 1, &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KernelNotSupported);
    assert_eq!(
        error.message(),
        "kernel `test::doubles` needs fp64, atomic64, which `mock` (mock) does not have"
    );
    assert!(error.help().is_some_and(|help| help.contains("f32")), "{error}");
    assert!(!mock.log().iter().any(|call| matches!(call, Call::Build { .. })), "{:?}", mock.log());

    // A kernel of another module needs nothing of it, and the queue is as good as before.
    launch(&queue_of_poor, || 42, 1, &[]).unwrap().wait().unwrap();

    let rich = Mock::new();
    rich.define_kernel("doubles", |_| ());
    launch(&queue(&device(&rich)), || 41, 1, &[]).unwrap().wait().unwrap();
}

#[test]
fn every_feature_of_kernels_is_refused_by_its_name() {
    let needs = [
        (9, Feature::Fp16),
        (10, Feature::Fp64),
        (12, Feature::Atomic64),
        (58, Feature::SubGroups),
        (65, Feature::SubGroupShuffle),
        (6033, Feature::AtomicFp32Add),
        (5612, Feature::AtomicFp32MinMax),
        (6034, Feature::AtomicFp64Add),
        (5613, Feature::AtomicFp64MinMax),
    ];
    let images = (100..).zip(needs).map(|(key, (capability, _))| {
        image(vec![kernel(key, "needs", vec![])], declaring(&[capability]))
    });
    register_bytes(encode(&images.collect::<Vec<_>>()), 0);
    let keys: [fn() -> u64; 9] =
        [|| 100, || 101, || 102, || 103, || 104, || 105, || 106, || 107, || 108];
    let all: Features = Feature::ALL.iter().copied().collect();
    for ((_, feature), key) in needs.into_iter().zip(keys) {
        let mock = mock_without(&[feature]);
        mock.define_kernel("needs", |_| ());
        assert_eq!(device(&mock).info().features, all.without(feature));
        let error = launch(&queue(&device(&mock)), key, 1, &[]).unwrap_err();
        assert!(error.message().contains(&format!("needs {feature}, which")), "{error}");
    }
}
