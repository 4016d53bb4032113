import { mayGrant, type Permission, permissions } from '../../../../protocol/call.ts';
import type { TokenId } from '../../../../protocol/ids.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import type { NewToken, TokenView } from '../../../../protocol/tokens-api.ts';
import type { Core } from '../../core.ts';
import { type Actor, adminPrincipal, type ApiToken, nameOf, type Principal } from '../../model.ts';
import type { Tx } from '../../ports/index.ts';
import { removeGone } from '../notifications/channels.ts';
import { noteSession } from './sessions.ts';

/** Minimum time in ms between two writes of a token's last use. Without it, each request would cause a write. */
const minUseIntervalMs = 300_000;

/** Names that have a fixed meaning in the audit trail. */
const reserved: readonly string[] = ['admin', 'system'];

export interface IssuedApiToken extends TokenView {
  /** The token in clear text. It is returned once and never stored. */
  readonly token: string;
}

/** Calls about API tokens of users and scripts. */
export function createTokenCalls(core: Core) {
  const { store, clock } = core;
  /** Last use of each token that this process has written. */
  const notedUse = new Map<TokenId, number>();

  const noteUse = ({ id, usedAt }: ApiToken, now: number): void => {
    const lastUse = Math.max(notedUse.get(id) ?? 0, usedAt ?? 0);
    if (now - lastUse < minUseIntervalMs || !store.acceptsWrites()) return;
    notedUse.set(id, now);
    core.enqueue(tx => tx.setApiTokenUsed(id, now));
  };
  const principalOf = (token: ApiToken | null): Principal | null => {
    const now = clock.wall();
    if (token === null || isExpired(token, now)) return null;
    noteUse(token, now);
    return { user: token.name, permissions: token.permissions, tokenId: token.id };
  };

  return {
    /** Returns null when there is no such token, or it has expired. */
    principalByTokenHash: (hash: string): Principal | null => principalOf(store.apiTokenByHash(hash)),

    /** Returns the current principal of a session or sign-in link; null when its token is no longer valid. */
    principalOfToken: (id: TokenId | null): Principal | null =>
      id === null ? adminPrincipal : principalOf(store.apiToken(id)),

    listTokens: (): readonly TokenView[] => store.apiTokens().map(token => viewOf(core, token)),

    createToken: (request: NewToken, ownPermissions: readonly Permission[], by: Actor) =>
      createToken(core, request, ownPermissions, by),

    /** Revokes a token. Once the promise resolves, the token and the sessions that it opened are invalid. */
    revokeToken: (id: TokenId, by: Actor): Promise<Outcome<TokenId>> =>
      store.write(tx => {
        const token = tx.apiToken(id);
        if (token === null) return refuse('token_not_found', `There is no token ${id}`);
        for (const session of tx.sessions().filter(({ tokenId }) => tokenId === id))
          noteSession(core, tx, 'session.expired', session, by, { reason: 'token_revoked' });
        tx.removeApiToken(id);
        for (const channel of tx.channels())
          if (channel.subscriber?.tokenId === id) removeGone(core, tx, channel.id, 'token_revoked');
        tx.afterCommit(() => notedUse.delete(id));
        noteToken(core, tx, 'token.revoked', id, by, { name: token.name });
        return accept(id);
      }),
  };
}

/** Creates a token. A caller can only grant permissions that the caller has. */
async function createToken(
  core: Core,
  { name, team, permissions: requested, expires_in_s: expiresInS }: NewToken,
  ownPermissions: readonly Permission[],
  by: Actor,
): Promise<Outcome<IssuedApiToken>> {
  const lacking = requested.filter(permission => !mayGrant(ownPermissions, permission));
  if (lacking.length > 0)
    return refuse(
      'permission_missing',
      `Your own token does not have ${lacking.join(', ')}, so you cannot grant it`,
    );
  const { token, hash } = core.ids.apiToken();
  const now = core.clock.wall();
  const created: ApiToken = {
    id: core.ids.apiTokenId(),
    name,
    team,
    permissions: permissions.filter(permission => requested.includes(permission)),
    createdAt: now,
    createdBy: nameOf(by),
    expiresAt: expiresInS === null ? null : now + expiresInS * 1000,
    usedAt: null,
  };
  const takenName = await core.store.write(tx => {
    const nameInUse = findNameInUse(tx, name);
    if (nameInUse !== null) return nameInUse;
    tx.insertApiToken(created, hash);
    const details = {
      name,
      team,
      permissions: created.permissions,
      expires_at: isoOf(core, created.expiresAt),
    };
    noteToken(core, tx, 'token.created', created.id, by, details);
    return null;
  });
  if (takenName === null) return accept({ ...viewOf(core, created), token });
  return folded(takenName) === folded(name)
    ? refuse('name_taken', `The name ${name} is in use: choose another one, or revoke that token first`)
    : refuse('name_taken', `The name ${name} looks like ${takenName}, which is in use: choose another one`);
}

/** Returns a name in use that is the same or looks the same; null if there is none. */
function findNameInUse(tx: Tx, name: string): string | null {
  const [foldedName, skeleton] = [folded(name), skeletonOf(name)];
  const inUse = [...reserved, ...tx.apiTokens().map(token => token.name)];
  return (
    inUse.find(nameInUse => folded(nameInUse) === foldedName || skeletonOf(nameInUse) === skeleton) ?? null
  );
}

function noteToken(
  core: Core,
  tx: Tx,
  type: 'token.created' | 'token.revoked',
  id: TokenId,
  actor: Actor,
  details: Readonly<Record<string, unknown>>,
): void {
  tx.appendAudit({ at: core.clock.wall(), type, actor, target: { type: 'token', id }, details });
}

const folded = (name: string): string => name.normalize('NFKC').toLowerCase();

const isExpired = ({ expiresAt }: ApiToken, now: number): boolean => expiresAt !== null && now >= expiresAt;

const isoOf = ({ clock }: Core, at: number | null): string | null => (at === null ? null : clock.iso(at));

const viewOf = (core: Core, token: ApiToken): TokenView => ({
  id: token.id,
  name: token.name,
  team: token.team,
  permissions: [...token.permissions],
  created_at: core.clock.iso(token.createdAt),
  created_by: token.createdBy,
  expires_at: isoOf(core, token.expiresAt),
  last_used_at: isoOf(core, token.usedAt),
});

/** Letters of other alphabets, with the Latin letters that look like them: a subset of Unicode's UTS 39. */
const alphabets: readonly (readonly [letters: string, latin: string])[] = [
  ['АВЕКМНОРСТУХЅІЈӀаеорсухѕіјӏԛԝһԁ', 'ABEKMHOPCTYXSlJlaeopcyxsijlqwhd'],
  ['ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοναρικυγ', 'ABEZHlKMNOPTYXovapikuy'],
  ['ԱՕՏՍոսօ', 'UOSUnuo'],
  ['ıɑɡI01', 'iaglol'],
];
const lookalikes: ReadonlyMap<string, string> = new Map(
  alphabets.flatMap(([letters, latin]) =>
    Array.from(letters, (letter, at): [string, string] => [letter, latin.charAt(at)]),
  ),
);

/**
 * Returns the skeleton of a name. Names that look alike have the same skeleton: it ignores invisible characters, wide forms,
 * case and alphabet.
 *
 * @internal
 */
export const skeletonOf = (name: string): string =>
  Array.from(
    name.normalize('NFKC').replaceAll(/\p{Default_Ignorable_Code_Point}/gu, ''),
    letter => lookalikes.get(letter) ?? letter,
  )
    .join('')
    .replaceAll(/\s+/g, ' ')
    .toLowerCase();
