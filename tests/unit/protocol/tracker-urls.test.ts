import { describe, expect, it } from 'vitest';
import {
  hostOfLink,
  isLoopbackLink,
  linksOfJob,
  type Tracker,
  trackerName,
} from '../../../protocol/run-link.ts';
import { addRunLinks, cleanRunUrl, maxRunLinks, ReportedLinks } from '../../../protocol/tracker-urls.ts';

describe('cleanRunUrl', () => {
  it.each<[Tracker, string]>([
    ['wandb', 'https://wandb.ai/ada/flux/runs/8k2v1q0x'],
    ['wandb', 'http://wandb.lan:8080/base/ada/flux%20lora/runs/8k2v1q0x'],
    ['swanlab', 'https://swanlab.cn/@ada/flux/runs/07ekmimzfowu0dqyitp77'],
    ['mlflow', 'http://127.0.0.1:5000/#/experiments/1/runs/0b7f5e9c2d'],
    ['mlflow', 'https://dagshub.com/ada/flux.mlflow/#/experiments/0/runs/0b7f5e9c2d'],
    ['mlflow', 'https://adb-1.azuredatabricks.net/ml/experiments/12/runs/0b7f5e9c2d?o=12'],
    ['trackio', 'https://huggingface.co/spaces/ada/trackio'],
    ['trackio', 'http://tracker.lan:7860/?project=flux'],
    ['comet', 'https://www.comet.com/ada/flux/3ea81647b4a9413182384b646bcef47f'],
  ])('keeps the URL of a %s run: %s', (kind, url) => expect(cleanRunUrl(kind, url)).toBe(url));

  it.each<[Tracker, string, string]>([
    [
      'wandb',
      'https://wandb.ai/anony-mouse-1/flux/runs/8k2v1q0x?apiKey=0123456789abcdef',
      'https://wandb.ai/anony-mouse-1/flux/runs/8k2v1q0x',
    ],
    [
      'wandb',
      'https://ada:hunter2@wandb.ai/ada/flux/runs/8k2v1q0x#access_token=x',
      'https://wandb.ai/ada/flux/runs/8k2v1q0x',
    ],
    [
      'mlflow',
      'https://token@mlflow.lan/?sig=abc#/experiments/1/runs/0b7f',
      'https://mlflow.lan/#/experiments/1/runs/0b7f',
    ],
    [
      'mlflow',
      'https://db.lan/ml/experiments/1/runs/0b7f?token=abc&o=5',
      'https://db.lan/ml/experiments/1/runs/0b7f?o=5',
    ],
    ['trackio', 'http://h:7860?write_token=abc&project=flux', 'http://h:7860/?project=flux'],
  ])('removes secrets from a %s URL: %s', (kind, url, clean) => expect(cleanRunUrl(kind, url)).toBe(clean));

  it('returns a host name with non-ASCII letters in its encoded form', () => {
    const url = cleanRunUrl('wandb', 'https://wаndb.ai/ada/flux/runs/8k2v1q0x');
    expect(url).toBe('https://xn--wndb-53d.ai/ada/flux/runs/8k2v1q0x');
  });

  it.each<[Tracker, string]>([
    ['wandb', 'https://wandb.ai/ada/flux'],
    ['wandb', 'https://wandb.ai/ada/flux/runs/'],
    ['wandb', 'ftp://wandb.ai/ada/flux/runs/8k2v1q0x'],
    ['wandb', 'javascript:alert(1)//ada/flux/runs/8k2v1q0x'],
    ['wandb', 'wandb.ai/ada/flux/runs/8k2v1q0x'],
    ['wandb', 'https://[::1/ada/flux/runs/8k2v1q0x'],
    ['wandb', `https://wandb.ai/ada/${'x'.repeat(199)}/runs/${'y'.repeat(199)}${'/z'.repeat(60)}`],
    ['wandb', `https://${'a'.repeat(60)}.ai/${'b'.repeat(199)}/${'x'.repeat(199)}/runs/${'y'.repeat(199)}`],
    ['wandb', `https://wandb.ai/ada/flux/runs/8k2v1q0x?${'q'.repeat(1_000)}`],
    ['mlflow', 'http://127.0.0.1:5000/#/experiments/1'],
    ['mlflow', 'http://127.0.0.1:5000/'],
    ['mlflow', 'http://127.0.0.1:5000/#/experiments/1/runs/<script>'],
    ['trackio', 'https://huggingface.co/datasets/ada/trackio'],
    ['comet', 'https://www.comet.com/ada'],
  ])('returns null for a URL that is not a %s run: %s', (kind, url) =>
    expect(cleanRunUrl(kind, url)).toBeNull(),
  );
});

describe('links in a report', () => {
  const link = { kind: 'wandb', url: 'https://wandb.ai/ada/flux/runs/8k2v1q0x' };

  it('keeps valid links and drops invalid links', () => {
    const invalid = [7, null, {}, { kind: 'elsewhere', url: link.url }, { kind: 'wandb', url: 'file:///x' }];
    for (const each of invalid) expect(ReportedLinks.parse([each, link])).toEqual([link]);
    for (const value of [undefined, null, 'x', {}]) expect(ReportedLinks.parse(value)).toBeUndefined();
  });

  it('keeps only the first links of a report, up to the limit', () => {
    const many = Array.from({ length: 50 }, (_, n) => ({ ...link, url: `${link.url}${n}` }));
    expect(ReportedLinks.parse(many)).toEqual(many.slice(0, maxRunLinks));
  });
});

describe('addRunLinks', () => {
  const links = Array.from({ length: 9 }, (_, n) => ({ kind: 'wandb', url: `https://w.ai/a/b/runs/${n}` }));

  it('adds new links once, up to the limit', () => {
    expect(addRunLinks(links.slice(0, 1), [...links.slice(0, 2), ...links.slice(1, 3)])).toEqual(
      links.slice(0, 3),
    );
    expect(addRunLinks(links.slice(0, 3), links)).toEqual(links.slice(0, maxRunLinks));
  });

  it('returns the same list when nothing is new', () => {
    const known = links.slice(0, maxRunLinks);
    expect(addRunLinks(known, [])).toBe(known);
    expect(addRunLinks(known, links.slice(0, 2))).toBe(known);
    expect(addRunLinks(known, links.slice(5))).toBe(known);
  });
});

describe('links of a job', () => {
  const linkTo = (url: string, kind = 'mlflow') => ({ kind, url });

  it('returns the links of the job, or of the newest attempt with links', () => {
    const [first, second] = [linkTo('https://a.lan/'), linkTo('https://b.lan/')];
    const attempts = [{ links: [first] }, { links: [second] }, { links: [] }];
    expect(linksOfJob({ links: [first], attempts })).toEqual([first]);
    expect(linksOfJob({ links: [], attempts })).toEqual([second]);
    expect(linksOfJob({ links: [], attempts: [] })).toEqual([]);
  });

  it('returns the name of the tracker of a link, and its host with the port', () => {
    expect(trackerName(linkTo('', 'wandb'))).toBe('Weights & Biases');
    expect(trackerName(linkTo('', 'newer'))).toBe('newer');
    expect(hostOfLink(linkTo('https://mlflow.lan:5000/x'))).toBe('mlflow.lan:5000');
  });

  it.each(['javascript:alert(1)', 'nonsense'])(
    'returns no host for a link that is not an http URL: %s',
    url => expect(hostOfLink(linkTo(url))).toBeNull(),
  );

  it.each([
    ['http://localhost:5000/', true],
    ['http://mlflow.localhost/', true],
    ['http://127.8.0.1/', true],
    ['http://0.0.0.0:5000/', true],
    ['http://[::1]:5000/', true],
    ['http://localhost.example.com/', false],
    ['http://10.0.0.1/', false],
    ['nonsense', false],
  ])('decides whether the link %s leads to the local machine: %s', (url, isLoopback) =>
    expect(isLoopbackLink(linkTo(url))).toBe(isLoopback),
  );
});
