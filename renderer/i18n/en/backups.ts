export const backups = {
  'backups.title': 'Backups',
  'backups.what':
    'Copies of the database: jobs, workers, tokens and the audit trail. Each copy is checked after it is written. Configs and these settings are stored separately and are not included.',
  'backups.hourly': 'Last hourly backup:',
  'backups.none': 'No backups yet.',
  'backups.all': '{count, plural, one {Show # backup} other {Show all # backups}}',
  'backups.make': 'Create backup',
  'backups.making': 'Creating and checking the backup…',
  'backups.made': 'Backup created and checked.',
  'backups.size': '{size, number} MB',
  'backups.kind.hourly': 'Hourly',
  'backups.kind.manual': 'Manual',
  'backups.kind.upgrade': 'Before an upgrade',
  'backups.kind.restore': 'Before a restore',
  'backups.restore': 'Restore…',
  'backups.restore.of': 'Restore {name}',
  'backups.restore.title': 'Restore this backup?',
  'backups.restore.consequence':
    'The orchestrator returns to the state in this backup. Later changes to jobs, workers and tokens are discarded. The audit trail keeps all of its entries.',
  'backups.restore.asOf': 'State at:',
  'backups.restore.saved': 'The current state is saved as a backup first, so you can undo the restore.',
  'backups.restore.workers':
    'Workers keep training. A job that is not in the backup stops when its worker reconnects. Workers that joined after the backup must join again.',
  'backups.restore.signIn':
    'Sessions and tokens are restored, too: tokens that were revoked after the backup become valid again, and you may have to sign in again. The admin token does not change.',
  'backups.restore.type': 'Type its name to confirm:',
  'backups.restore.act': 'Restore backup',
  'backups.restoring':
    'Restoring {name}: the current state is saved, and the server pauses for a moment. This page reconnects automatically.',
  'backups.restored': 'Restored. The previous state is saved as {saved}.',
  'retention.title': 'Audit trail',
  'retention.all': 'All entries are kept.',
  'retention.some': '{count, plural, one {Entries are kept for # day.} other {Entries are kept for # days.}}',
  'retention.days': 'Days to keep',
  'retention.hint': 'Leave empty to keep all entries.',
  'retention.what':
    'Older entries are removed a few times a day. A sealed marker replaces them, so the remaining entries can still be verified. Removed entries cannot be recovered, so export them first if you need them.',
} as const;
