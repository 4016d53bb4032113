import type { Call } from '../../../../protocol/call.ts';
import type { CallInput } from '../../../../protocol/client.ts';
import type { ChannelKind } from '../../../../protocol/notification.ts';
import type { notificationsApi } from '../../../../protocol/notifications-api.ts';
import type { NotificationKey } from '../../../i18n/en/notifications.ts';

type BodyOf<C extends Call> = NonNullable<CallInput<C>['body']>;
export type Target = BodyOf<typeof notificationsApi.createChannel>['target'];

/** The kinds of channels that users create with the form. Push channels are missing, because browsers create them. */
export const kinds = [
  'discord',
  'slack',
  'ntfy',
  'email',
  'webhook',
] as const satisfies readonly ChannelKind[];
export type Kind = (typeof kinds)[number];

export const securities = ['tls', 'starttls', 'none'] as const;

export interface FieldSpec {
  readonly name: string;
  readonly label: NotificationKey;
  readonly hint?: NotificationKey;
  /** `secret` fields hide the typed text. */
  readonly type: 'text' | 'secret' | 'number' | 'security';
  readonly isOptional?: true;
}

const url = (hint: NotificationKey): FieldSpec => ({
  name: 'url',
  label: 'notify.form.url',
  hint,
  type: 'secret',
});

/** The fields of each kind, in the order of the form. */
export const fields: Readonly<Record<Kind, readonly FieldSpec[]>> = {
  discord: [url('notify.form.url.discord')],
  slack: [url('notify.form.url.slack')],
  webhook: [
    { ...url('notify.form.url.webhook'), type: 'text' },
    { name: 'signing_secret', label: 'notify.form.secret', hint: 'notify.form.secret.hint', type: 'text' },
  ],
  ntfy: [
    { ...url('notify.form.url.ntfy'), type: 'text' },
    { name: 'topic', label: 'notify.form.topic', hint: 'notify.form.topic.hint', type: 'text' },
    { name: 'token', label: 'notify.form.token', type: 'secret', isOptional: true },
  ],
  email: [
    { name: 'host', label: 'notify.form.host', type: 'text' },
    { name: 'port', label: 'notify.form.port', type: 'number' },
    { name: 'security', label: 'notify.form.security', type: 'security' },
    { name: 'username', label: 'notify.form.username', type: 'text', isOptional: true },
    { name: 'password', label: 'notify.form.password', type: 'secret', isOptional: true },
    { name: 'from', label: 'notify.form.from', type: 'text' },
    { name: 'to', label: 'notify.form.to', type: 'text' },
  ],
};

export type Values = Readonly<Record<string, string>>;

/** Returns the initial values of the form, by `KIND.FIELD`. */
export const startValues = (signingSecret: string): Values => ({
  'ntfy.url': 'https://ntfy.sh',
  'webhook.signing_secret': signingSecret,
  'email.port': '465',
  'email.security': 'tls',
});

/** Converts the values of one kind to the target for the API. The server validates the target. */
export function toTarget(kind: Kind, values: Values): Target {
  const at = (name: string): string => (values[`${kind}.${name}`] ?? '').trim();
  const optional = (name: string): string | null => at(name) || null;
  switch (kind) {
    case 'discord':
    case 'slack':
      return { kind, url: at('url') };
    case 'webhook':
      return { kind, url: at('url'), signing_secret: at('signing_secret') };
    case 'ntfy':
      return { kind, url: at('url'), topic: at('topic'), token: optional('token') };
    case 'email': {
      // Do not trim the password, because it may begin or end with a space.
      const password = values['email.password'] ?? '';
      return {
        kind,
        host: at('host'),
        port: Number(at('port')),
        security: securities.find(each => each === at('security')) ?? 'tls',
        username: optional('username'),
        password: password === '' ? null : password,
        from: at('from'),
        to: at('to')
          .split(/[\s,;]+/)
          .filter(address => address !== ''),
      };
    }
  }
}

/** Returns a new signing secret of 256 bits. */
export function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
