import { activity } from './activity.ts';
import { overview } from './overview.ts';
import { pages } from './pages.ts';
import { workers } from './workers.ts';
import { jobs } from './jobs.ts';
import { jobOutputs } from './job-outputs.ts';
import { settings } from './settings.ts';

/**
 * All texts of the panel, as ICU messages. Texts outside the pages are in this file; texts of the pages are in the
 * files beside it. The catalogs of the other languages do not compile unless they have exactly the same keys.
 */
export const en = {
  'app.name': 'Trainyard',
  'app.skip': 'Skip to content',
  'nav.label': 'Pages',
  'nav.overview': 'Overview',
  'nav.workers': 'Workers',
  'nav.jobs': 'Jobs',
  'nav.gallery': 'Gallery',
  'nav.queue': 'Queue',
  'nav.timeline': 'Timeline',
  'nav.pools': 'Pools',
  'nav.data': 'Data',
  'nav.audit': 'Audit',
  'nav.settings': 'Settings',
  'nav.help': 'Help',
  'stream.connecting': 'Connecting',
  'stream.loading': 'Loading',
  'stream.live': 'Live',
  'stream.stale': 'Not up to date since {time}',
  'stream.polled': 'Updated every 10 seconds',
  'signIn.title': 'Sign in',
  'signIn.explain':
    'Paste a token, or open the one-time link that the server printed when it started. The admin token is in the file admin-token in the data folder.',
  'signIn.token': 'Token',
  'signIn.submit': 'Sign in',
  'signIn.used':
    'This link was already used or has expired: links are valid for ten minutes. Paste a token, or get a new link from the server.',
  'signIn.wrong': 'This token is not valid.',
  'signIn.unreachable': 'The server cannot be reached.',
  signOut: 'Sign out',
  'may.as': 'Signed in as {user}',
  'may.may': 'Permissions:',
  'may.until': 'Session expires:',
  'may.missing': 'This requires the permission “{what}” ({permission}), which you do not have.',
  'may.ask': 'Anyone who manages tokens can create a token with it, in Settings or in a terminal:',
  'may.other': 'Sign in with another token',
  'may.hidden': '{page}: requires the permission “{what}”',
  'action.cancel': 'Cancel',
  'action.close': 'Close',
  'action.copy': 'Copy',
  'action.copied': 'Copied',
  'action.copyCommand': 'Copy command {command}',
  'action.reveal': 'Show',
  'action.retry': 'Retry',
  'action.hide': 'Hide',
  'state.idle': 'idle',
  'state.busy': 'busy',
  'state.connecting': 'connecting',
  'state.draining': 'draining',
  'state.offline': 'offline',
  'state.quarantined': 'quarantined',
  'state.pending': 'pending',
  'state.blocked': 'needs approval',
  'state.dispatched': 'dispatched',
  'state.starting': 'starting',
  'state.running': 'running',
  'state.recovering': 'recovering',
  'state.cancelling': 'cancelling',
  'state.completed': 'completed',
  'state.failed': 'failed',
  'state.cancelled': 'cancelled',
  'time.never': 'never',
  'time.none': '–',
  'error.unreachable': 'The server did not respond.',
  'error.title': 'Action failed',
  'toast.all': 'Notifications',
  'toast.close': 'Dismiss notification',
  'palette.label': 'Go to',
  'palette.hint': 'Page, worker, job or action',
  'palette.on': '{action}: {name}',
  'palette.resume': 'Resume queue',
  'palette.nothing': 'No results',
  'page.unavailable': 'This page did not load',
  'page.unavailable.waiting': 'The server does not respond. The page loads as soon as it does.',
  'page.unavailable.failed': 'The server responds again, but this page did not load. Try again.',
  'page.notFound': 'Page not found.',
  ...overview,
  ...activity,
  ...pages,
  ...workers,
  ...jobs,
  ...jobOutputs,
  ...settings,
} as const satisfies Readonly<Record<string, string>>;

export type MessageKey = keyof typeof en;
export type Messages = Readonly<Record<MessageKey, string>>;
