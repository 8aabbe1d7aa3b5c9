//! Devices, platforms, contexts and queues, as programs find them.

use crosscut_runtime::{Context, ErrorKind, Feature, Queue, QueueOptions, QueueOrder};

use super::stage::{get, put, refused};
use super::{Outcome, Stage, everywhere, only_where};
use crate::condition::CAN_BE_CUT;
use crate::{Behaviour, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    everywhere("a device is accepted by the selector that it tells", selects_itself),
    everywhere(
        "a selector of another back end accepts no device, and says what there is",
        no_device,
    ),
    everywhere("a selector that makes no sense is refused", bad_selector),
    everywhere("a device is listed with its back end and on one platform", platform),
    everywhere("listing devices twice gives the same devices", listed_twice),
    everywhere("a score chooses a device, and without one there is none", scored),
    everywhere("the default context of a device is one context", default_context),
    everywhere("every context that is made is another one", contexts_differ),
    everywhere("a queue tells its options and its context", queue_options),
    everywhere("a device has a feature where its information says so", features),
    everywhere("parts without compute units are refused", no_units),
    everywhere("more compute units than there are are refused", too_many_units),
    only_where(&CAN_BE_CUT, "a part knows its whole, and its place in it", part_of_whole),
    only_where(&CAN_BE_CUT, "parts and the whole have contexts of their own", part_contexts),
];

fn selects_itself(stage: &Stage) -> Outcome {
    let selector = stage.device.selector();
    let found = stage.runtime(&selector).devices()?;
    ensure!(found.len() == 1, "{selector} accepts {} devices", found.len());
    ensure!(found[0].selector() == selector, "{selector} became {}", found[0].selector());
    ensure!(found[0].info() == stage.device.info(), "another device was found");
    let by_kind = format!("{}:{}", stage.device.backend(), stage.device.kind());
    ensure!(stage.runtime(&by_kind).devices()?.len() == 1, "{by_kind} does not accept it");
    Ok(())
}

fn no_device(stage: &Stage) -> Outcome {
    let other = if stage.device.backend().name() == "host" { "opencl:*" } else { "host:*" };
    let outcome = stage.runtime(other).devices();
    if let Err(error) = &outcome {
        ensure!(error.to_string().contains(stage.device.name()), "it names no device: {error}");
    }
    refused(outcome, ErrorKind::NoDevice)
}

fn bad_selector(stage: &Stage) -> Outcome {
    for selector in [":", "nonsense:0", "host:", "opencl:cpu:gpu", "opencl:-1", ";;"] {
        let outcome = stage.runtime(selector).devices();
        ensure!(outcome.is_err(), "`{selector}` was accepted");
        refused(outcome, ErrorKind::NoDevice)?;
    }
    Ok(())
}

fn platform(stage: &Stage) -> Outcome {
    let platforms = stage.runtime("").platforms()?;
    ensure!(platforms.len() == 1, "it is on {} platforms", platforms.len());
    let (platform, info) = (&platforms[0], stage.device.info());
    ensure!(platform.backend() == stage.device.backend(), "{}", platform.backend());
    let told = (platform.name(), platform.vendor(), platform.version());
    let expected = (&*info.platform, &*info.platform_vendor, &*info.platform_version);
    ensure!(told == expected, "{told:?}");
    ensure!(platform.devices().len() == 1, "{:?}", platform.devices());
    Ok(())
}

fn listed_twice(stage: &Stage) -> Outcome {
    let runtime = stage.runtime("");
    ensure!(runtime.devices()? == runtime.devices()?, "the devices differ");
    let reports = runtime.backends();
    ensure!(reports.len() == 1 && reports[0].devices == runtime.devices()?, "{reports:?}");
    ensure!(reports[0].absence.is_none(), "{:?}", reports[0].absence);
    Ok(())
}

fn scored(stage: &Stage) -> Outcome {
    let runtime = stage.runtime("");
    refused(runtime.select(|_| None::<u32>), ErrorKind::NoDevice)?;
    // Kernels of this program have images once they were used: every device can run them then.
    super::program::word()?;
    let chosen = runtime.select(|device| Some(device.info().compute_units))?;
    ensure!(chosen.info() == stage.device.info(), "{chosen} was chosen");
    Ok(())
}

fn default_context(stage: &Stage) -> Outcome {
    let device = &stage.device;
    let (one, other) = (device.default_context()?, device.clone().default_context()?);
    ensure!(one == other, "there are two");
    ensure!(one != stage.context, "it is one that somebody made");
    let queue = Queue::new(&one)?;
    let buffer = crosscut_runtime::Buffer::allocate(&one, 10, 1)?;
    put(&queue, &buffer, &[1; 10])?;
    ensure!(get(&queue, &buffer)? == [1; 10], "it does not work");
    Ok(())
}

fn contexts_differ(stage: &Stage) -> Outcome {
    let made: Result<Vec<Context>, _> = (0..5).map(|_| stage.device.create_context()).collect();
    let made = made?;
    for (at, one) in made.iter().enumerate() {
        ensure!(one.device() == &stage.device, "it is of another device");
        ensure!(*one == one.clone(), "a copy is another one");
        ensure!(made[..at].iter().all(|other| one != other), "two are the same");
    }
    Ok(())
}

fn queue_options(stage: &Stage) -> Outcome {
    for order in [QueueOrder::InOrder, QueueOrder::OutOfOrder] {
        for profiling in [false, true] {
            let options = QueueOptions { order, profiling };
            let queue = Queue::with_options(&stage.context, options)?;
            ensure!(queue.options() == options, "{:?}", queue.options());
            ensure!(*queue.context() == stage.context, "it is of another context");
        }
    }
    Ok(())
}

fn features(stage: &Stage) -> Outcome {
    for &feature in Feature::ALL {
        let told = stage.device.info().features.has(feature);
        ensure!(stage.device.has(feature) == told, "{feature}");
    }
    Ok(())
}

fn no_units(stage: &Stage) -> Outcome {
    refused(stage.device.partition_equally(0), ErrorKind::Invalid)?;
    refused(stage.device.partition_by_counts(&[]), ErrorKind::Invalid)?;
    refused(stage.device.partition_by_counts(&[1, 0]), ErrorKind::Invalid)
}

fn too_many_units(stage: &Stage) -> Outcome {
    let units = stage.device.info().compute_units;
    refused(stage.device.partition_equally(units.saturating_add(1)), ErrorKind::Invalid)?;
    refused(stage.device.partition_equally(u32::MAX), ErrorKind::Invalid)?;
    refused(stage.device.partition_by_counts(&[units, 1]), ErrorKind::Invalid)?;
    refused(stage.device.partition_by_counts(&[u32::MAX, u32::MAX]), ErrorKind::Invalid)
}

fn part_of_whole(stage: &Stage) -> Outcome {
    ensure!(stage.device.parent().is_none(), "the whole is a part");
    for (number, part) in stage.device.partition_equally(1)?.iter().enumerate() {
        ensure!(part.parent() == Some(&stage.device), "it is part of another device");
        let place = format!("{}.{number}", stage.device.selector());
        ensure!(part.selector() == place, "{} instead of {place}", part.selector());
        ensure!(part.index() == stage.device.index(), "its index is {}", part.index());
    }
    Ok(())
}

fn part_contexts(stage: &Stage) -> Outcome {
    let buffer = stage.holding(&[5; 10])?;
    for part in stage.device.partition_equally(1)? {
        let context = &part.default_context()?;
        let queue = Queue::new(context)?;
        refused(get(&queue, &buffer), ErrorKind::Invalid)?;
        let own = crosscut_runtime::Buffer::allocate(context, 10, 1)?;
        super::stage::copy(&queue, &own, &buffer, &[])?.wait()?;
        ensure!(get(&queue, &own)? == [5; 10], "a copy from the whole went wrong");
    }
    Ok(())
}
