import { randomBytes } from 'node:crypto';
import type { Request } from 'express';
import type { BodyOf, ReplyOf } from '../../../protocol/call.ts';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import { sessionApi } from '../../../protocol/session-api.ts';
import type { TokenId } from '../../../protocol/ids.ts';
import type { Orchestrator, Principal } from '../../orchestrator/index.ts';
import { actorOf, personAt } from './admin-routes.ts';
import { hashOf, principalBehind } from '../auth/auth.ts';
import type { Router } from './route.ts';
import { bearerOf, isOwnPage, schemeOf, sessionCookie, sessionOf } from '../auth/sender.ts';

export interface SessionDeps {
  readonly orchestrator: Orchestrator;
  readonly codes: OneTimeCodes;
  /** Returns the owner of this bearer token; null when the token is unknown. */
  readonly principalOf: (token: string) => Principal | null;
  /** Ends the streams of clients that have lost the permission to read them. */
  readonly recheck: () => void;
}

const nobody: SessionReply = { user: null, permissions: [], expires_at: null };

const replyFor = ({ user, permissions }: Principal, until: number | null): SessionReply => ({
  user,
  permissions: [...permissions],
  expires_at: until === null ? null : new Date(until).toISOString(),
});

/** The code is after the `#`, so browsers do not send it and servers do not log it. */
export const signInPath = (code: string): string => `/#sign-in=${code}`;

const outdated = refuse('code_invalid', 'This link was used, or is too old: ask the server for a new one');

export function mountSessionRoutes(router: Router, deps: SessionDeps): void {
  const { orchestrator, codes, principalOf, recheck } = deps;
  const current = (request: Request) => {
    const token = sessionOf(request);
    const session = token === null ? null : orchestrator.access.sessionByHash(hashOf(token).toString('hex'));
    const principal = session === null ? null : orchestrator.access.principalOfToken(session.tokenId);
    return session === null || principal === null ? null : { principal, session };
  };
  const principalFor = (body: SignIn): Outcome<Principal> => {
    if ('code' in body) {
      const holder = codes.redeem(body.code);
      const principal = holder === null ? null : orchestrator.access.principalOfToken(holder.tokenId);
      return principal === null ? outdated : accept(principal);
    }
    const principal = principalOf(body.token);
    return principal === null
      ? refuse(
          'token_invalid',
          'Invalid token: the admin token is in the file admin-token of the data folder',
        )
      : accept(principal);
  };

  router.answer(sessionApi.get, ({ request }) => {
    // As in every other call, a bearer token takes precedence over the cookie. The token belongs to no session, so there is no
    // `expires_at`.
    const token = bearerOf(request);
    if (token !== null) {
      const principal = principalOf(token);
      if (principal === null)
        return refuse('token_invalid', 'Invalid token: it may have expired, or been revoked');
      return accept(replyFor(principal, null));
    }
    const signedIn = current(request);
    return accept(signedIn === null ? nobody : replyFor(signedIn.principal, signedIn.session.until));
  });
  router.answer(sessionApi.signIn, async ({ body, request }) => {
    if (!isOwnPage(request)) return refuse('cross_site', 'Sign in on the panel itself');
    const principal = principalFor(body);
    if (!principal.ok) return principal;
    const device = describeDevice(request.headers['user-agent']);
    const by = personAt(principal.value.user, request);
    const opened = await orchestrator.access.openSession(principal.value, device, by);
    if (opened === null) return outdated;
    setCookie(request, opened.token, new Date(opened.until));
    return accept(replyFor(principal.value, opened.until));
  });
  router.answer(sessionApi.signOut, async ({ request }) => {
    if (!isOwnPage(request)) return refuse('cross_site', 'Sign out on the panel itself');
    const signedIn = current(request);
    if (signedIn !== null) {
      await orchestrator.access.closeSession(signedIn.session, personAt(signedIn.principal.user, request));
      recheck();
    }
    setCookie(request, '', new Date(0));
    return accept(nobody);
  });
  router.answer(sessionApi.link, ({ caller }) => {
    const code = codes.make(principalBehind(caller));
    return accept({ code, path: signInPath(code), expires_in_s: codeLastsMs / 1000 });
  });
  // A bearer token takes precedence over the cookie, so a request with a bearer token belongs to no session.
  const currentId = (request: Request) =>
    bearerOf(request) === null ? (current(request)?.session.id ?? null) : null;
  router.answer(sessionApi.list, ({ request }) =>
    accept({ sessions: [...orchestrator.access.listSessions(currentId(request))] }),
  );
  router.answer(sessionApi.revoke, async ({ params, caller, request }) => {
    const outcome = await orchestrator.access.revokeSession(params.id, actorOf(caller, request));
    if (!outcome.ok) return outcome;
    recheck();
    return accept({ success: true as const, session_id: outcome.value });
  });
  router.answer(sessionApi.revokeAll, async ({ query, caller, request }) => {
    const sessionToKeep = query.keep_current === 'true' ? currentId(request) : null;
    const revoked = await orchestrator.access.revokeSessions(sessionToKeep, actorOf(caller, request));
    recheck();
    return accept({ success: true as const, revoked });
  });
}

function setCookie(request: Request, value: string, expires: Date): void {
  request.res?.cookie(sessionCookie(request), value, {
    httpOnly: true,
    sameSite: 'strict',
    secure: schemeOf(request) === 'https',
    path: '/',
    expires,
  });
}

/** The first match counts: Edge and Opera also send the name of Chrome, and Chrome also sends the name of Safari. */
const browsers = [
  ['Edge', /\bEdg(?:e|A|iOS)?\/(\d+)/],
  ['Opera', /\bOPR\/(\d+)/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/(\d+)/],
  ['Electron', /\bElectron\/(\d+)/],
  ['Chrome', /\b(?:(?:Headless)?Chrome|CriOS|Chromium)\/(\d+)/],
  ['Safari', /\bVersion\/(\d+)[.\d]* (?:Mobile\/\w+ )?Safari\//],
] as const;

/** The first match counts: iPhones also send the name of Mac OS X, and Android also sends the name of Linux. */
const systems = [
  ['iOS', /\b(?:iPhone|iPad)\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b/],
  ['Linux', /\bLinux\b/],
] as const;

/** Number of characters of `User-Agent` that are read. The header may be longer. */
const maxRead = 400;

/** Returns a readable name such as `Firefox 140 on Linux`; null when the `User-Agent` contains no known program. */
function describeDevice(userAgent: string | undefined): string | null {
  const text = (userAgent ?? '').slice(0, maxRead);
  for (const [name, pattern] of browsers) {
    const version = pattern.exec(text)?.[1];
    if (version === undefined) continue;
    const system = systems.find(([, sign]) => sign.test(text))?.[0];
    return system === undefined ? `${name} ${version}` : `${name} ${version} on ${system}`;
  }
  const [, program, version] = /^([A-Za-z][\w.-]{0,39})\/(\d{1,6})/.exec(text) ?? [];
  return program === undefined || program === 'Mozilla' ? null : `${program} ${version}`;
}

/** The token whose owner requested a code; `tokenId` is null for the admin token. */
interface CodeHolder {
  readonly tokenId: TokenId | null;
}

interface OneTimeCodes {
  make(holder: CodeHolder): string;
  /** Returns the owner of the code, and makes the code invalid. Returns null when the code is unknown, used or expired. */
  redeem(code: string): CodeHolder | null;
}

/** @internal */
export const codeLastsMs = 600_000;
/** Maximum number of codes. Above it, the oldest code becomes invalid. */
const maxCodes = 100;

interface KnownCode {
  readonly holder: CodeHolder;
  readonly until: number;
  readonly adminHash: string;
}

/**
 * Creates and redeems one-time sign-in codes. The codes are only in memory, so a restart makes them invalid. A code for the admin
 * token also becomes invalid when that token is replaced; `adminHash` returns the hash of the current one.
 */
export function createOneTimeCodes(now: () => number, adminHash: () => string): OneTimeCodes {
  const codes = new Map<string, KnownCode>();
  const isValid = ({ holder, until, adminHash: madeUnder }: KnownCode): boolean =>
    now() < until && (holder.tokenId !== null || madeUnder === adminHash());
  return {
    make(holder) {
      const code = randomBytes(24).toString('base64url');
      codes.set(code, { holder, until: now() + codeLastsMs, adminHash: adminHash() });
      const [oldest] = codes.keys();
      if (codes.size > maxCodes && oldest !== undefined) codes.delete(oldest);
      return code;
    },
    redeem(code) {
      const entry = codes.get(code);
      codes.delete(code);
      return entry !== undefined && isValid(entry) ? entry.holder : null;
    },
  };
}

type SessionReply = ReplyOf<typeof sessionApi.get>;
type SignIn = BodyOf<typeof sessionApi.signIn>;
