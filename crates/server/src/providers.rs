//! The providers of models that the operator has configured.

use branchpoint_core::ir::Effect;
use branchpoint_runners::models::{Models, ProviderCheck, ProviderSummary};
use branchpoint_runners::runtime;

/// What the settings show of the providers of models. The methods block.
pub trait ModelProviders: Send + Sync {
    /// The configured providers by name.
    fn list(&self) -> Vec<ProviderSummary>;

    /// The provider that calls of an effect use; none if it calls no model, or if only the run determines it.
    fn of(&self, effect: &Effect) -> Option<String>;

    /// Checks whether a provider responds. None if it is not configured.
    fn check(&self, name: &str) -> Option<ProviderCheck>;
}

impl ModelProviders for Models {
    fn list(&self) -> Vec<ProviderSummary> {
        self.providers()
    }

    fn of(&self, effect: &Effect) -> Option<String> {
        self.provider_of(effect)
    }

    fn check(&self, name: &str) -> Option<ProviderCheck> {
        runtime().block_on(self.check_provider(name))
    }
}
