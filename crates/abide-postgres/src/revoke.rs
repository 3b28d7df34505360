//! Taking back the activities of an execution, a part at a time.

use abide_provider::{Operation, RevokeWork, RevokedWork, StoreError};

use crate::PostgresProvider;
use crate::encode::{because_column, column};
use crate::news::News;
use crate::node::call::Values;
use crate::statements::Sql;
use crate::token::MailboxToken;

impl PostgresProvider {
    pub(crate) async fn revoke(&self, revoke: RevokeWork) -> Result<RevokedWork, StoreError> {
        let operation = Operation::RevokeWork;
        let lost = || StoreError::lease_lost(operation);
        let token = MailboxToken::parse(&revoke.token).ok_or_else(lost)?;
        let values: Values = vec![
            Box::new(token.mailbox),
            Box::new(token.nonce),
            Box::new(column(revoke.execution_id)),
            Box::new(i64::from(revoke.at_most())),
            Box::new(because_column(&revoke.because)),
        ];
        let row = self.one_row(operation, Sql::RevokeWork, values).await?;
        let count = row.get::<_, Option<i64>>("revoked").ok_or_else(lost)?;
        let mut news = News::default();
        news.set_stolen(&row.get::<_, Vec<String>>("stolen"), &row.get::<_, Vec<String>>("because"));
        self.shared.tell(news);
        Ok(RevokedWork { count: u32::try_from(count).unwrap_or(u32::MAX), more: row.get("more") })
    }
}
