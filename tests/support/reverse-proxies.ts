/** Runs the reverse proxies of docs/network.md as real programs, with the configuration blocks of that page. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { eventually } from './notices.ts';
import { root, temporaryFolder } from './processes.ts';

export const certificate = join(root, 'tests/support/tls/test-cert.pem');
const key = join(root, 'tests/support/tls/test-key.pem');
/** The host name in the blocks of the page. */
export const proxyName = 'yard.example.org';

/** Returns the first candidate that runs on this machine; null when none does. */
function findProgram(candidates: readonly string[], versionFlag: string): string | null {
  const runs = (candidate: string): boolean => {
    try {
      execFileSync(candidate, [versionFlag], { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  };
  return candidates.find(runs) ?? null;
}

/** Path of nginx; null when it is not installed. */
export const nginx = findProgram(['nginx', '/usr/sbin/nginx'], '-v');
/** Path of Caddy; null when it is not installed. */
export const caddy = findProgram(['caddy', '/usr/bin/caddy'], 'version');

/** Returns the code blocks of docs/network.md in this language, in their order. */
export function documentedBlocks(language: string): readonly string[] {
  const page = readFileSync(join(root, 'docs/network.md'), 'utf8');
  const blocks = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)];
  return blocks.filter(([, blockLanguage]) => blockLanguage === language).map(([, , text = '']) => text);
}

type Replacement = readonly [pattern: RegExp, by: string];

/** Replaces addresses and paths of the page. Throws when the page lacks a pattern. */
function adaptBlock(text: string, replacements: readonly Replacement[]): string {
  return replacements.reduce((adapted, [pattern, by]) => {
    if (!pattern.test(adapted)) throw new Error(`docs/network.md has no ${pattern.source}`);
    return adapted.replace(pattern, by);
  }, text);
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        address === null || typeof address === 'string'
          ? reject(new Error('no port'))
          : resolve(address.port),
      );
    });
  });

/** Starts a proxy that ends with the test. Resolves when `isReady` returns true. */
async function startProxy(
  [file = '', ...args]: readonly string[],
  isReady: (stderr: string) => boolean,
  env: NodeJS.ProcessEnv = process.env,
): Promise<{ signal(name: NodeJS.Signals): void }> {
  const child = spawn(file, args, { stdio: ['ignore', 'ignore', 'pipe'], env });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (part: string) => (stderr += part));
  const exited = new Promise<void>(resolve => child.once('close', () => resolve()));
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await exited;
  });
  await eventually('the proxy', () => {
    if (child.exitCode !== null) throw new Error(`${file} has ended: ${stderr}`);
    return isReady(stderr);
  });
  return { signal: name => void child.kill(name) };
}

export interface NginxProxy {
  readonly url: string;
  /** Reloads nginx with another configuration, as `nginx -s reload` does. */
  reload(adapt: (text: string) => string): void;
}

/** Starts nginx with the configuration block of the page, after the changes of `adapt`. */
export async function startNginx(
  orchestrator: string,
  adapt = (text: string): string => text,
): Promise<NginxProxy> {
  const folder = temporaryFolder();
  const port = await freePort();
  const temps = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(kind => {
    mkdirSync(join(folder, kind));
    return `${kind}_temp_path ${join(folder, kind)};`;
  });
  const block = adaptBlock(documentedBlocks('nginx')[0] ?? '', [
    [/listen 443 ssl;/, `listen 127.0.0.1:${port} ssl;`],
    [/ssl_certificate \S+;/, `ssl_certificate ${certificate};`],
    [/ssl_certificate_key \S+;/, `ssl_certificate_key ${key};`],
    [/proxy_pass http:\/\/127\.0\.0\.1:8001;/, `proxy_pass ${orchestrator};`],
  ]);
  const file = join(folder, 'nginx.conf');
  const write = (change: (text: string) => string): void =>
    writeFileSync(
      file,
      `${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off; master_process on; worker_processes 1; pid ${folder}/pid; error_log stderr warn;
events { worker_connections 256; }
http { access_log off; ${temps.join(' ')}
${change(block)}
}`,
    );
  write(adapt);
  const argv = [nginx ?? 'nginx', '-p', folder, '-c', file, '-e', 'stderr'];
  // nginx writes its pid file after it starts to listen.
  const program = await startProxy(argv, () => existsSync(join(folder, 'pid')));
  return {
    url: `https://127.0.0.1:${port}`,
    reload(change) {
      write(change);
      program.signal('SIGHUP');
    },
  };
}

/** Starts Caddy with the configuration block of the page. Resolves with its URL. */
export async function startCaddy(orchestrator: string): Promise<string> {
  const folder = temporaryFolder();
  const port = await freePort();
  const block = adaptBlock(documentedBlocks('caddy')[0] ?? '', [
    // A test has no public name, so it cannot get a certificate from Let's Encrypt.
    [/^yard\.example\.org \{/, `https://127.0.0.1:${port} {\n  tls ${certificate} ${key}`],
    [/reverse_proxy 127\.0\.0\.1:8001/, `reverse_proxy ${new URL(orchestrator).host}`],
  ]);
  const file = join(folder, 'Caddyfile');
  writeFileSync(file, `{\n  admin off\n  auto_https disable_redirects\n}\n${block}`);
  const argv = [caddy ?? 'caddy', 'run', '--config', file, '--adapter', 'caddyfile'];
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  await startProxy(argv, stderr => stderr.includes('serving initial configuration'), env);
  return `https://127.0.0.1:${port}`;
}
