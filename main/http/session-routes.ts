import type { Request } from 'express';
import { permissions } from '../../protocol/call.ts';
import type { ReplyOf } from '../../protocol/call.ts';
import { accept, type Outcome, refuse } from '../../protocol/problem.ts';
import { sessionApi } from '../../protocol/session-api.ts';
import { nameOf, type Orchestrator } from '../orchestrator/index.ts';
import { actorOf, personAt } from './admin-routes.ts';
import { hashOf, isOwnPage, sessionCookie, sessionOf } from './auth.ts';
import { codeLastsMs, type OneTimeCodes } from './one-time-codes.ts';
import type { Router } from './route.ts';
import type { StreamRegistry } from './stream-registry.ts';

type SessionReply = ReplyOf<typeof sessionApi.get>;

export interface SessionParts {
  readonly orchestrator: Orchestrator;
  readonly codes: OneTimeCodes;
  /** The user of a bearer token; null when it is none. */
  readonly userOfToken: (token: string) => string | null;
  readonly streams: StreamRegistry;
}

const nobody: SessionReply = { user: null, permissions: [], expires_at: null };

const replyFor = (user: string, until: number): SessionReply => ({
  user,
  permissions: [...permissions],
  expires_at: new Date(until).toISOString(),
});

/** Behind `#`, so that it is in no request and in no log. */
export const signInPath = (code: string): string => `/#sign-in=${code}`;

export function mountSessionRoutes(router: Router, parts: SessionParts): void {
  const { orchestrator, codes, userOfToken, streams } = parts;
  const current = (request: Request) => {
    const token = sessionOf(request);
    return token === null ? null : orchestrator.sessionByHash(hashOf(token).toString('hex'));
  };
  const userFor = (body: { readonly token: string } | { readonly code: string }): Outcome<string> => {
    if ('code' in body) {
      const user = codes.redeem(body.code);
      return user === null
        ? refuse('code_invalid', 'This link was used, or is too old: ask the server for a new one')
        : accept(user);
    }
    const user = userOfToken(body.token);
    return user === null
      ? refuse(
          'token_invalid',
          'Invalid token: the admin token is in the file admin-token of the data folder',
        )
      : accept(user);
  };

  router.answer(sessionApi.get, ({ request }) => {
    const session = current(request);
    return accept(session === null ? nobody : replyFor(session.user, session.until));
  });
  router.answer(sessionApi.signIn, async ({ body, request }) => {
    if (!isOwnPage(request)) return refuse('cross_site', 'Sign in on the panel itself');
    const user = userFor(body);
    if (!user.ok) return user;
    const opened = await orchestrator.openSession(personAt(user.value, request));
    setCookie(request, opened.token, new Date(opened.until));
    return accept(replyFor(opened.user, opened.until));
  });
  router.answer(sessionApi.signOut, async ({ request }) => {
    if (!isOwnPage(request)) return refuse('cross_site', 'Sign out on the panel itself');
    const token = sessionOf(request);
    const session = current(request);
    if (token !== null && session !== null) {
      await orchestrator.closeSession(hashOf(token).toString('hex'), personAt(session.user, request));
      streams.endOf(token);
    }
    setCookie(request, '', new Date(0));
    return accept(nobody);
  });
  router.answer(sessionApi.link, ({ caller, request }) => {
    const code = codes.make(nameOf(actorOf(caller, request)));
    return accept({ code, path: signInPath(code), expires_in_s: codeLastsMs / 1000 });
  });
}

function setCookie(request: Request, value: string, expires: Date): void {
  request.res?.cookie(sessionCookie, value, {
    httpOnly: true,
    sameSite: 'strict',
    secure: request.secure,
    path: '/',
    expires,
  });
}
