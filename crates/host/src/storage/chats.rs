//! Chats, turn by turn.

use branchpoint_core::effect::{ChatTurn, Role};
use branchpoint_expr::iso_utc;
use branchpoint_runners::storage::{Chat, ChatHistory, MAX_TURNS, StorageError, WriteId};
use rusqlite::params;

use super::{LoadedBytes, SqliteStorage, removed};
use crate::driver::now_ms;
use crate::store::StoreError;

impl ChatHistory for SqliteStorage {
    fn add_turn(&self, write: &WriteId, chat: &str, role: Role, content: &str) -> Result<(), StorageError> {
        self.write_once(write, |store| {
            let turns: u32 = store.value("SELECT coalesce(max(turn), 0) FROM chat_turns WHERE chat = ?1", [chat])?;
            if turns >= MAX_TURNS {
                let message = format!("the chat `{chat}` has {MAX_TURNS} turns, the most that one can have");
                return Err(StoreError::StorageLimit(message + "; begin another chat"));
            }
            let sql = "INSERT INTO chat_turns (chat, turn, role, content, at_ms) VALUES (?1, ?2, ?3, ?4, ?5)";
            let values = params![chat, turns + 1, role.as_str(), content, now_ms()];
            store.execute(sql, values).map(drop)
        })
    }

    fn load_turns(&self, chat: &str, limit: u32) -> Result<Vec<ChatTurn>, StorageError> {
        self.read(|store| {
            let sql = "SELECT role, content, at_ms FROM chat_turns WHERE chat = ?1 ORDER BY turn DESC LIMIT ?2";
            let mut statement = store.db.prepare_cached(sql)?;
            let mut rows = statement.query(params![chat, limit])?;
            let (mut loaded, mut turns) = (LoadedBytes::default(), Vec::new());
            while let Some(row) = rows.next()? {
                let (role, content): (String, String) = (row.get(0)?, row.get(1)?);
                loaded.add(&[&content])?;
                let role = Role::named(&role).ok_or_else(|| StoreError::Missing(format!("chat role `{role}`")))?;
                turns.push(ChatTurn { role, content, at: iso_utc(row.get(2)?).unwrap_or_default() });
            }
            turns.reverse();
            Ok(turns)
        })
    }

    fn chats(&self) -> Result<Vec<Chat>, StorageError> {
        self.read(|store| {
            let sql = "SELECT chat, count(*), max(at_ms) FROM chat_turns GROUP BY chat ORDER BY chat";
            store.rows(sql, [], |row| Ok(Chat { id: row.get(0)?, turns: row.get(1)?, newest_ms: row.get(2)? }))
        })
    }

    fn remove_chat(&self, chat: &str) -> Result<u32, StorageError> {
        self.write(|store| Ok(removed(store.execute("DELETE FROM chat_turns WHERE chat = ?1", [chat])?)))
    }
}
