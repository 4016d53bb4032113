/** Texts of the settings page that only this page shows. They load together with it. */
export const settingsTopics = {
  'topics.label': 'Topics',
  'topics.choose': 'Topic',
  'topics.general': 'General',
  'topics.account': 'Account',
  'topics.phone': 'Open on a phone',
  'topics.token.created': 'Created by {by}:',
  'topics.token.team': 'Team {team}',
  'topics.data': 'Data and backups',
  'topics.access': 'Access',
  'topics.notifications': 'Notifications',
  'topics.push': 'Push messages in this browser',
  'topics.search': 'Search settings',
  'topics.search.results': 'Settings found',
  'topics.search.count': '{count, plural, one {# setting found} other {# settings found}}',
  'topics.search.none': 'No setting matches “{query}”.',
  'topics.queue.title': 'Order and pause',
  'topics.queue.explain':
    'The queue page shows the order of the pending jobs. You can also pause the queue there.',
  'topics.queue.page': 'Open the queue',
  'topics.workers.title': 'Other machines',
  'topics.workers.explain':
    'The workers page lists all machines. Add, name, label, drain and delete them there.',
  'topics.workers.page': 'Open the workers',
  'topics.pools.explain':
    'A pool orders machines from a cluster or a cloud while jobs wait. Its page has its limits, its budget and its hours.',
  'topics.pools.none': 'No pools yet.',
  'topics.pools.edit': 'Edit',
  'topics.pools.edit.of': 'Edit pool {name}',
  'topics.pools.page': 'Open the pools',
  'topics.data.title': 'Datasets',
  'topics.data.explain':
    'The data page lists the datasets and the space that they use. You can delete old versions there.',
  'topics.data.page': 'Open the datasets',
} as const satisfies Readonly<Record<string, string>>;

export type SettingsKey = keyof typeof settingsTopics;
