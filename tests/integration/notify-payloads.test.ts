import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createCourier } from '../../main/notify/index.ts';
import type { Artifact, Delivery } from '../../main/orchestrator/ports/index.ts';
import { ChannelId, DeliveryId, JobId } from '../../protocol/ids.ts';
import { ChannelTarget } from '../../protocol/notification.ts';
import { temporaryFolder } from '../support/processes.ts';
import { openMailServer, openReceiver } from '../support/receiver.ts';

const picture = Buffer.from('89504e470d0a1a0a0001ff', 'hex');
const jobId = JobId.parse('j1');

const delivery: Delivery = {
  id: DeliveryId.parse('d1'),
  channelId: ChannelId.parse('c1'),
  occasion: 'event:1',
  subject: 'j1',
  notification: {
    event: 'job_failed',
    title: 'größe <b> failed',
    text: '@everyone [link](http://a.example) & more',
    job: { id: jobId, name: 'größe', user: 'ana', tags: [] },
    worker: 'rig-1',
    page: '/jobs/j1',
  },
  state: 'pending',
  tries: 0,
  result: null,
  createdAt: 0,
  dueAt: 0,
  endedAt: null,
};

function openCourier(allowed: readonly string[] = ['127.0.0.1']) {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'stored'), picture);
  return createCourier({
    clock: { wall: () => 1_700_000_000_000, iso: at => new Date(at).toISOString() },
    files: { pathOf: (_job, file) => join(folder, file), freeBytes: () => Promise.resolve(7) },
    reserveBytes: 2,
    allowed,
    address: () => 'https://trainyard.example/',
    pushKeys: () => null,
  });
}

const sample: Artifact = {
  jobId,
  order: 1,
  attempt: 1,
  key: 'samples/step-10.PNG',
  kind: 'sample_image',
  bytes: picture.length,
  sha256: '',
  file: 'stored',
  createdAt: 0,
};

async function sendTo(
  target: (url: string) => object,
  artifact: Artifact | null = null,
  statusOf = (_count: number): number => 200,
) {
  const receiver = await openReceiver(statusOf);
  onTestFinished(() => receiver.close());
  const answer = await openCourier().deliver(ChannelTarget.parse(target(receiver.url)), delivery, artifact);
  return { answer, received: receiver.received };
}

const discord = (url: string) => ({ kind: 'discord', url: `${url}/hook` });
const ntfy = (url: string) => ({ kind: 'ntfy', url, topic: 'rigs', token: 'tk_secret' });

test('escapes mentions and links in an embed for Discord', async () => {
  const { answer, received } = await sendTo(discord);
  expect(answer).toEqual({ kind: 'delivered', detail: 'HTTP 200' });
  expect(JSON.parse(received[0]?.body.toString() ?? '')).toMatchObject({
    embeds: [
      {
        title: String.raw`größe \<b\> failed`,
        description: String.raw`\@everyone \[link\]\(http://a.example\) & more`,
        url: 'https://trainyard.example/jobs/j1',
      },
    ],
    allowed_mentions: { parse: [] },
  });
});

test('attaches the sample to the embed of Discord', async () => {
  const { received } = await sendTo(discord, sample);
  const [request] = received;
  const boundary =
    /^multipart\/form-data; boundary=(\S+)$/.exec(request?.headers['content-type'] ?? '')?.[1] ?? '';
  const [before = '', message = '', file = '', after = ''] = (request?.body.toString('latin1') ?? '').split(
    `--${boundary}`,
  );
  expect([before, after]).toEqual(['', '--\r\n']);
  expect(JSON.parse(message.split('\r\n\r\n')[1] ?? '')).toMatchObject({
    embeds: [{ image: { url: 'attachment://sample.png' } }],
  });
  expect(file).toBe(
    '\r\nContent-Disposition: form-data; name="files[0]"; filename="sample.png"\r\n' +
      `Content-Type: image/png\r\n\r\n${picture.toString('latin1')}\r\n`,
  );
});

test('sends a notification without its sample when the receiver refuses the sample', async () => {
  const { answer, received } = await sendTo(discord, sample, count => (count === 1 ? 413 : 204));
  expect(answer.kind).toBe('delivered');
  expect(received.map(({ headers }) => headers['content-type']?.split(';')[0])).toEqual([
    'multipart/form-data',
    'application/json',
  ]);
});

test('sends a notification without a sample whose file was removed', async () => {
  const { received } = await sendTo(discord, { ...sample, file: 'removed' });
  expect(received[0]?.headers['content-type']).toBe('application/json');
});

test('sends JSON with the topic and the token to ntfy', async () => {
  const { received } = await sendTo(ntfy);
  expect(received[0]).toMatchObject({
    method: 'POST',
    path: '/',
    headers: { authorization: 'Bearer tk_secret' },
  });
  expect(JSON.parse(received[0]?.body.toString() ?? '')).toMatchObject({
    topic: 'rigs',
    title: 'größe <b> failed',
    click: 'https://trainyard.example/jobs/j1',
    priority: 4,
  });
});

test('sends the sample as a file to the topic of ntfy, with the title in a header', async () => {
  const { received } = await sendTo(ntfy, sample);
  expect(received[0]).toMatchObject({ method: 'PUT', path: '/rigs', body: picture });
  const title = String(received[0]?.headers['title']);
  expect(Buffer.from(title.slice('=?UTF-8?B?'.length, -2), 'base64').toString()).toBe('größe <b> failed');
});

test('escapes markup for Slack', async () => {
  const { received } = await sendTo(url => ({ kind: 'slack', url }));
  expect(JSON.parse(received[0]?.body.toString() ?? '')).toMatchObject({
    text: 'größe &lt;b&gt; failed',
    blocks: [
      { type: 'header' },
      { text: { text: expect.stringContaining('&amp; more\n<https://trainyard.example/jobs/j1|') } },
    ],
  });
});

test('attaches the sample to an e-mail, with a Message-ID that retries share', async () => {
  const mail = await openMailServer('password');
  onTestFinished(() => mail.close());
  const target = {
    kind: 'email',
    host: '127.0.0.1',
    port: mail.port,
    security: 'none',
    username: 'trainyard',
    password: 'password',
    from: 'trainyard@a.example',
    to: ['ana@a.example', 'bo@a.example'],
  };
  expect(await openCourier().deliver(ChannelTarget.parse(target), delivery, sample)).toMatchObject({
    kind: 'delivered',
  });
  const [text = ''] = await mail.until(mails => mails.length === 1);
  expect(text).toContain('Message-ID: <d1@trainyard>');
  expect(text).toContain('To: ana@a.example, bo@a.example');
  expect(text).toContain(picture.toString('base64'));
});

test('refuses to connect to a private address that was not allowed, at creation and at delivery', async () => {
  const receiver = await openReceiver(() => 200);
  onTestFinished(() => receiver.close());
  const courier = openCourier([]);
  const target = ChannelTarget.parse(discord(receiver.url.replace('http:', 'https:')));
  expect(await courier.check(target)).toMatchObject({ ok: false });
  expect(await courier.deliver(target, delivery, null)).toMatchObject({
    kind: 'permanent',
    detail: expect.stringContaining('not a public address'),
  });
  expect(receiver.received).toHaveLength(0);
});

test('reports a temporary failure when no receiver listens', async () => {
  const receiver = await openReceiver(() => 200);
  receiver.close();
  const target = ChannelTarget.parse(discord(receiver.url));
  expect(await openCourier().deliver(target, delivery, null)).toMatchObject({
    kind: 'temporary',
    detail: 'no connection (ECONNREFUSED)',
  });
});
