import { dialog } from 'electron';
import type { Fleets } from '../fleets.ts';
import type { Words } from '../words/index.ts';
import type { Link } from './links.ts';

interface FollowDeps {
  readonly words: Words;
  readonly fleets: Pick<Fleets, 'list'>;
  /** Brings the window to the front, at this page. */
  readonly open: (page: string) => void;
}

/** The part of the settings page that lists the fleets. */
const fleetsPart = '#settings-fleets';

/** Returns the page of the panel that asks for the token of a new fleet. */
function joinPage({ url, pin }: { readonly url: string; readonly pin: string }): string {
  const query = new URLSearchParams({ add_fleet: url, ...(pin !== '' && { pin }) });
  return `/settings/general?${query.toString()}${fleetsPart}`;
}

/** Creates a function that opens links. The function asks the user before it adds a fleet, one question at a time. */
export function createLinkFollower({ words, fleets, open }: FollowDeps): (link: Link) => Promise<void> {
  let isAsking = false;
  const offer = async (fleet: Extract<Link, { kind: 'join' }>): Promise<void> => {
    if (fleets.list().some(({ url }) => url === fleet.url)) return open(`/settings/general${fleetsPart}`);
    const { response } = await dialog.showMessageBox({
      type: 'question',
      message: words.joinQuestion,
      detail: joinDetail(fleet, words),
      buttons: [words.joinContinue, words.cancel],
      defaultId: 1,
      cancelId: 1,
    });
    if (response === 0) open(joinPage(fleet));
  };
  const refuse = async (problem: 'token' | 'invalid'): Promise<void> => {
    const [message, detail] =
      problem === 'token'
        ? [words.linkHasToken, words.linkHasTokenDetail]
        : [words.linkInvalid, words.linkInvalidDetail];
    await dialog.showMessageBox({ type: 'warning', message, detail });
  };
  return async link => {
    if (link.kind === 'page') return open(link.page);
    // A web page that opens many links must not fill the screen with questions.
    if (isAsking) return undefined;
    isAsking = true;
    try {
      await (link.kind === 'join' ? offer(link) : refuse(link.problem));
    } finally {
      isAsking = false;
    }
  };
}

const joinDetail = ({ url, pin }: { readonly url: string; readonly pin: string }, words: Words): string =>
  [
    words.joinAddress(url),
    words.joinPin(pin),
    '',
    ...(url.startsWith('http:') ? [words.joinUnencrypted] : []),
    words.joinDetail,
  ].join('\n');
