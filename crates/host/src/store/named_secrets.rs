//! Named secrets, sealed with the key of the store. The name is authenticated with the value, so that a change of the file cannot give a
//! workflow the value of another name.

use branchpoint_backend::{MAX_SECRETS, NamedSecret, NewSecret};
use rusqlite::params;

use super::seal::Key;
use super::{Store, StoreError};

impl Store {
    /// Stores a named secret, or replaces it.
    ///
    /// ```
    /// use branchpoint_backend::NewSecret;
    /// use branchpoint_host::store::Store;
    ///
    /// let store = Store::in_memory().unwrap();
    /// let secret = NewSecret { name: "TOKEN".into(), value: "pa55word".into(), workflows: Vec::new(), set_by: "ada".into() };
    /// store.set_secret(&secret, 0).unwrap();
    /// assert_eq!(store.named_secret("TOKEN").unwrap().as_deref(), Some("pa55word"));
    /// ```
    pub fn set_secret(&self, secret: &NewSecret, now_ms: i64) -> Result<(), StoreError> {
        let NewSecret { name, value, workflows, set_by } = secret;
        let key = Key::for_sealing(self)?;
        let bytes = key.seal_named(name, value)?;
        let workflows = serde_json::to_string(workflows).unwrap_or_else(|_| "[]".into());
        self.change(|| {
            let sql = "SELECT count(*) FROM named_secrets WHERE name != ?1";
            if self.value::<u64>(sql, [name])? >= MAX_SECRETS as u64 {
                return Err(StoreError::StorageLimit(format!("there are {MAX_SECRETS} secrets already; remove some")));
            }
            self.check_key(&key)?;
            let sql = "INSERT OR REPLACE INTO named_secrets (name, bytes, workflows, set_by, set_ms) VALUES (?1, ?2, ?3, ?4, ?5)";
            self.execute(sql, params![name, bytes, workflows, set_by, now_ms]).map(drop)
        })
    }

    /// Removes a named secret. Returns false if there is none.
    pub fn remove_secret(&self, name: &str) -> Result<bool, StoreError> {
        Ok(self.execute("DELETE FROM named_secrets WHERE name = ?1", [name])? > 0)
    }

    /// The named secrets without their values, by name.
    pub fn named_secrets(&self) -> Result<Vec<NamedSecret>, StoreError> {
        let sql = "SELECT name, workflows, set_by, set_ms FROM named_secrets ORDER BY name";
        self.rows(sql, [], |row| {
            let workflows = serde_json::from_str(row.get_ref(1)?.as_str()?).unwrap_or_default();
            Ok(NamedSecret { name: row.get(0)?, workflows, set_by: row.get(2)?, set_ms: row.get(3)? })
        })
    }

    /// The value of a named secret.
    pub fn named_secret(&self, name: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT bytes FROM named_secrets WHERE name = ?1";
        let sealed: Option<Vec<u8>> = self.first(sql, [name], |row| row.get(0))?;
        sealed.map(|sealed| Key::of(self)?.open_named(name, &sealed)).transpose()
    }

    /// All named secrets as they are stored: names and sealed values.
    pub(crate) fn named_secrets_sealed(&self) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        self.rows("SELECT name, bytes FROM named_secrets ORDER BY name", [], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// Opens sealed values.
    pub(crate) fn open_named(&self, sealed: &[(String, Vec<u8>)]) -> Result<Vec<String>, StoreError> {
        if sealed.is_empty() {
            return Ok(Vec::new());
        }
        let key = Key::of(self)?;
        sealed.iter().map(|(name, sealed)| key.open_named(name, sealed)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Durability;

    fn secret(name: &str, value: &str) -> NewSecret {
        NewSecret { name: name.into(), value: value.into(), workflows: vec!["a-*".into()], set_by: "ada".into() }
    }

    #[test]
    fn a_secret_is_replaced_listed_without_its_value_and_removed() {
        let store = Store::in_memory().unwrap();
        store.set_secret(&secret("B", "canary-1"), 5).unwrap();
        store.set_secret(&secret("A", "canary-2"), 6).unwrap();
        store.set_secret(&secret("B", "canary-3"), 7).unwrap();
        let listed = store.named_secrets().unwrap();
        let names: Vec<_> = listed.iter().map(|secret| (&*secret.name, secret.set_ms)).collect();
        assert_eq!(names, [("A", 6), ("B", 7)]);
        assert!(!format!("{listed:?} {:?}", secret("B", "canary-3")).contains("canary"));
        assert_eq!(store.named_secret("B").unwrap().as_deref(), Some("canary-3"));
        assert_eq!(store.open_named(&store.named_secrets_sealed().unwrap()).unwrap(), ["canary-2", "canary-3"]);
        assert!(store.remove_secret("B").unwrap() && !store.remove_secret("B").unwrap());
        assert_eq!(store.named_secret("B").unwrap(), None);
    }

    #[test]
    fn the_file_has_no_value_and_is_useless_without_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let (path, copy) = (folder.path().join("store.db"), folder.path().join("copy.db"));
        let store = Store::open(&path, Durability::Full).unwrap();
        store.set_secret(&secret("TOKEN", "canary-value-77"), 5).unwrap();
        assert!(store.backup(&copy).unwrap(), "the key is not part of a backup");
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            assert!(!bytes.windows(15).any(|part| part == b"canary-value-77"), "{}", path.display());
        }
        let copied = Store::open(&copy, Durability::Full).unwrap();
        assert!(matches!(copied.named_secret("TOKEN"), Err(StoreError::Sealed(_))));
        assert!(
            matches!(copied.set_secret(&secret("TOKEN", "x"), 6), Err(StoreError::Sealed(_))),
            "no second key is made"
        );
        assert_eq!(copied.named_secrets().unwrap().len(), 1, "names can be listed without the key");
    }

    #[test]
    fn the_sealed_value_of_another_name_is_not_opened() {
        let store = Store::in_memory().unwrap();
        store.set_secret(&secret("HARMLESS", "x"), 5).unwrap();
        store.set_secret(&secret("DEPLOY", "canary"), 5).unwrap();
        let sql = "UPDATE named_secrets SET bytes = (SELECT bytes FROM named_secrets WHERE name = 'DEPLOY') WHERE name = 'HARMLESS'";
        store.execute(sql, []).unwrap();
        assert!(matches!(store.named_secret("HARMLESS"), Err(StoreError::Sealed(_))));
    }
}
