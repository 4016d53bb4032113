export const backups = {
  'backups.title': 'Backups',
  'backups.what':
    'Copies of the database, each checked after it was written: jobs, workers, tokens, the audit trail. Configs and what is set here lie beside it, and are not in them.',
  'backups.hourly': 'The hourly one was last made:',
  'backups.none': 'There is none yet.',
  'backups.all': '{count, plural, one {Show it} other {Show all #}}',
  'backups.make': 'Make one now',
  'backups.making': 'Making a backup and checking it…',
  'backups.made': 'The backup is made and checked.',
  'backups.size': '{size, number} MB',
  'backups.kind.hourly': 'Every hour',
  'backups.kind.manual': 'Asked for',
  'backups.kind.upgrade': 'Before an upgrade',
  'backups.kind.restore': 'Before a restore',
  'backups.restore': 'Restore…',
  'backups.restore.of': 'Restore {name}',
  'backups.restore.title': 'Restore this backup?',
  'backups.restore.consequence':
    'The orchestrator goes back to what it was then. What has changed since goes out of use: jobs, workers, tokens, and the entries of the audit trail.',
  'backups.restore.asOf': 'As it was:',
  'backups.restore.saved': 'What there is now is kept as a backup first, so that this can be taken back.',
  'backups.restore.workers':
    'Workers train on. What the backup does not know is stopped when its worker returns, and workers that joined since have to join anew.',
  'backups.restore.signIn':
    'Sessions and tokens are those of the backup: what was revoked since opens again, and you may have to sign in again. The admin token stays.',
  'backups.restore.type': 'To go on, type its name:',
  'backups.restore.act': 'Restore',
  'backups.restoring':
    'Restoring {name}: what there is now is kept, and everything stops for a moment. This page comes back by itself.',
  'backups.restored': 'Restored. What there was until now is kept as {saved}.',
  'retention.title': 'Audit trail',
  'retention.all': 'Everything is kept.',
  'retention.some': '{count, plural, one {Kept for # day.} other {Kept for # days.}}',
  'retention.days': 'Days to keep',
  'retention.hint': 'Left empty, everything is kept.',
  'retention.what':
    'Older entries are removed, a few times a day. A sealed mark stays in their place, so that the rest can still be verified; what was removed is gone, so export it first if you need it.',
} as const;
