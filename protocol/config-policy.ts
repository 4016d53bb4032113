/**
 * Config keys with effects beyond a job's own data (docs/adr/0025-config-keys.md): they start programs, write or delete
 * files outside the job's folder, or send data to any address. A worker refuses a job with such a key, unless the owner
 * of the worker has allowed the key. The orchestrator uses the same table to choose a worker.
 */

/**
 * Decides for which values the use of a key is restricted. `value`: any non-empty value. `switch`: any value that turns the
 * option on. `path`: a path that leaves its base folder. `address`: any address other than this machine's.
 */
type Rule = 'value' | 'switch' | 'path' | 'address';

interface Policy {
  readonly rule: Rule;
  /** The end of a sentence about the key: "it ...". */
  readonly effect: string;
}

const runsProgram = { rule: 'value', effect: 'starts a program on the rig' } as const;
const changesLaunch = { rule: 'value', effect: 'changes the command that starts the trainer' } as const;
const postsOut = { rule: 'value', effect: 'sends data from the rig to addresses in the config' } as const;
const deletesImages = { rule: 'switch', effect: "deletes files of the rig's datasets" } as const;
const writesOutside = { rule: 'path', effect: "writes outside the job's folder" } as const;

/** The key with which an owner allows `{env:NAME}` (SimpleTuner) and `${NAME}` (ai-toolkit) in values. */
const environmentKey = 'env';

const policies: ReadonlyMap<string, Policy> = new Map<string, Policy>([
  ['post_checkpoint_script', runsProgram],
  ['post_upload_script', runsProgram],
  ['validation_external_script', runsProgram],
  ['disk_low_script', runsProgram],
  ['accelerate_extra_args', changesLaunch],
  ['accelerate_config', changesLaunch],
  ['deepspeed_config', { rule: 'value', effect: 'lets DeepSpeed write files anywhere on the rig' }],
  ['trust_remote_code', { rule: 'switch', effect: 'runs Python code from a model repository' }],
  ['main_process_ip', { rule: 'address', effect: 'connects the trainer to another machine' }],
  ['webhook_config', postsOut],
  ['publishing_config', postsOut],
  ['output_dir', writesOutside],
  ['logging_dir', writesOutside],
  ['debug_dir', writesOutside],
  ['offload_param_path', writesOutside],
  ['group_offload_to_disk_path', writesOutside],
  ['memory_filesystem_path', writesOutside],
  ['memory_filesystem_sudo', { rule: 'switch', effect: 'runs mount with sudo on the rig' }],
  ['delete_unwanted_images', deletesImages],
  ['delete_nsfw_images', deletesImages],
  ['delete_model_after_load', { rule: 'switch', effect: "deletes models from the rig's cache" }],
]);

/** All keys that an owner can allow, sorted. */
export const restrictedKeys: readonly string[] = [...policies.keys(), environmentKey].toSorted();

export interface RestrictedUse {
  readonly key: string;
  readonly effect: string;
}

/**
 * Returns the restricted keys that a config and its dataloader use, sorted and without duplicates. Searches objects and lists at
 * any depth, including JSON inside strings, because SimpleTuner parses such strings.
 */
export function restrictedUses(config: unknown, dataloader: unknown): readonly RestrictedUse[] {
  if (isBuiltIn(config)) return [];
  const uses = new Map<string, string>();
  search(config, true, uses);
  search(dataloader, false, uses);
  return [...uses].map(([key, effect]) => ({ key, effect })).toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

/** Whether the config is for one of the worker's built-in trainers. These trainers read none of the restricted keys. */
const isBuiltIn = (config: unknown): boolean =>
  typeof config === 'object' &&
  config !== null &&
  'trainer' in config &&
  (config.trainer === 'selftest' || config.trainer === 'digits');

/**
 * Returns the restricted key that a key in a config means; null when it means none. At the top level, argparse also accepts
 * abbreviated option names, and reads everything after `=` as the value.
 */
export function restrictedKeyFor(written: string, isTopLevel: boolean): string | null {
  const [name = ''] = written.trim().split('=');
  const key = name.trim().replace(/^-+/, '').replaceAll('-', '_').toLowerCase();
  if (policies.has(key)) return key;
  if (!isTopLevel || key.length < 2) return null;
  return [...policies.keys()].find(full => full.startsWith(key)) ?? null;
}

function search(root: unknown, isConfig: boolean, uses: Map<string, string>): void {
  // Uses an explicit stack, because a deeply nested config must not overflow the call stack.
  const pending: { readonly part: unknown; readonly isTopLevel: boolean }[] = [
    { part: root, isTopLevel: isConfig },
  ];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { part, isTopLevel } = next;
    if (typeof part === 'string') {
      if (/\{env:|\$\{\w+\}/.test(part)) uses.set(environmentKey, "reads the trainer's environment");
      const parsed = parseJson(part);
      if (parsed !== null) pending.push({ part: parsed, isTopLevel: false });
    } else if (Array.isArray(part)) {
      for (const item of part) pending.push({ part: item, isTopLevel });
    } else if (typeof part === 'object' && part !== null) {
      for (const [written, value] of Object.entries(part)) {
        recordUse(written, value, isTopLevel, uses);
        pending.push({ part: value, isTopLevel: false });
      }
    }
  }
}

function recordUse(written: string, value: unknown, isTopLevel: boolean, uses: Map<string, string>): void {
  const key = restrictedKeyFor(written, isTopLevel);
  const policy = key === null ? undefined : policies.get(key);
  if (key === null || policy === undefined) return;
  const equals = written.indexOf('=');
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  const values = [...(equals === -1 ? [] : [written.slice(equals + 1)]), ...items];
  if (values.some(item => isRestricted(policy.rule, item))) uses.set(key, policy.effect);
}

/** Whether a value has the effect that the rule restricts. */
function isRestricted(rule: Rule, value: unknown): boolean {
  if (value === null || value === undefined || value === false) return false;
  const text = typeof value === 'string' ? value.trim() : JSON.stringify(value);
  if (text === '' || text === 'None' || /^false$/i.test(text)) return false;
  switch (rule) {
    case 'value':
      return true;
    case 'switch':
      return !/^(?:0|no|n|off)$/i.test(text);
    case 'address':
      return !/^(?:127\.0\.0\.1|::1|localhost)$/i.test(text);
    case 'path':
      return typeof value !== 'string' || leavesBaseFolder(text);
  }
}

/** Matches absolute paths of any platform, home folders, variables, and `..`. */
const leavesBaseFolder = (path: string): boolean =>
  /^[/\\~]|^[a-z]:/i.test(path) || path.includes('{env:') || path.split(/[/\\]/).includes('..');

/** Returns the value of JSON text; null for other text. */
function parseJson(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
