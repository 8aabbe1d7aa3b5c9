//! Whose instances of device globals a command uses.
//!
//! Those of its context, with one exception: a symbol has an instance in every kernel bundle, and commands
//! that use a bundle use that one. It lives as long as the bundle.

use std::ops::Deref;

use crate::Error;
use crate::bundle::Bundle;
use crate::context::Context;
use crate::global::{GlobalHandle, Globals};

/// A context, and the symbols of the bundle that a command uses there, if it uses one.
#[derive(Clone, Copy)]
pub(crate) struct Home<'a> {
    context: &'a Context,
    symbols: Option<&'a Globals>,
}

impl<'a> Home<'a> {
    /// For commands without a bundle.
    pub(crate) fn of(context: &'a Context) -> Self {
        Self { context, symbols: None }
    }

    /// For commands with a bundle that is being built.
    pub(crate) fn with(context: &'a Context, symbols: &'a Globals) -> Self {
        Self { context, symbols: Some(symbols) }
    }

    /// For commands with or without a bundle.
    ///
    /// # Errors
    /// The bundle belongs to another context.
    pub(crate) fn under(context: &'a Context, bundle: Option<&'a Bundle>) -> Result<Self, Error> {
        if let Some(bundle) = bundle {
            context.owns(bundle.context(), "the bundle")?;
        }
        Ok(Self { context, symbols: bundle.map(|bundle| bundle.symbols(context)) })
    }

    pub(crate) fn context(self) -> &'a Context {
        self.context
    }

    pub(crate) fn has_symbols(self) -> bool {
        self.symbols.is_some()
    }

    /// Where the global's instance is kept; `None` if it is the static itself.
    pub(crate) fn keeper(self, global: &GlobalHandle) -> Option<&'a Globals> {
        match self.symbols {
            Some(symbols) if global.has_bundle_scope() => Some(symbols),
            _ if self.context.uses_statics() => None,
            _ => Some(&self.context.inner().globals),
        }
    }
}

/// A device global, and the bundle whose value of it is meant if it is a symbol's.
#[derive(Clone, Copy, Debug)]
pub struct GlobalIn<'a> {
    global: GlobalHandle,
    bundle: Option<&'a Bundle>,
}

impl GlobalHandle {
    /// The global as commands with this bundle see it.
    #[must_use]
    pub fn under(self, bundle: Option<&Bundle>) -> GlobalIn<'_> {
        GlobalIn { global: self, bundle }
    }
}

impl From<GlobalHandle> for GlobalIn<'_> {
    fn from(global: GlobalHandle) -> Self {
        global.under(None)
    }
}

impl GlobalIn<'_> {
    /// Whose instance is meant.
    ///
    /// # Errors
    /// The bundle belongs to another context.
    pub(crate) fn home<'c>(&self, context: &'c Context) -> Result<Home<'c>, Error>
    where
        Self: 'c,
    {
        Home::under(context, self.bundle)
    }
}

impl Deref for GlobalIn<'_> {
    type Target = GlobalHandle;

    fn deref(&self) -> &GlobalHandle {
        &self.global
    }
}
