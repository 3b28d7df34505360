//! Stored text, as it is.
//!
//! A text column normally holds what we wrote. If a disk or a person has damaged it, it must still be possible to
//! read the row, to find it again, and to go on to the next one.

use rusqlite::Row;
use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

/// The bytes of a text column, which are UTF-8 unless they were damaged.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Text(Vec<u8>);

impl Text {
    /// The text, if it is undamaged.
    pub(crate) fn decode(self) -> Result<String, String> {
        String::from_utf8(self.0).map_err(|_| "a stored text is damaged".to_owned())
    }

    /// The text to hand out: what is damaged is replaced.
    pub(crate) fn lossy(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl FromSql for Text {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_bytes().map(|bytes| Self(bytes.to_vec()))
    }
}

impl ToSql for Text {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(&self.0)))
    }
}

/// A column to hand out: what is damaged is replaced, what is missing is empty.
pub(crate) fn lossy(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(lossy_or_null(row, column)?.unwrap_or_default())
}

/// The same for a column that may be empty.
pub(crate) fn lossy_or_null(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    let value = row.get_ref(column)?;
    Ok(value.as_bytes_or_null().unwrap_or_default().map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
}
