import type { TrainerConfig } from '../../../protocol/job.ts';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import { largest } from './config-reading.ts';

/** Returns indented JSON, or compact JSON when indentation would exceed the size limit. */
export function configText(config: TrainerConfig): Outcome<string> {
  const compact = compactOf(config);
  if (compact === null) return refuse('config_invalid', 'The config is nested too deeply');
  if (compact.length > largest)
    return refuse('body_too_large', `The config is larger than ${largest} characters`);
  const indented = depthOf(compact) > deepest ? compact : `${JSON.stringify(config, null, 2)}\n`;
  return accept(indented.length > largest ? compact : indented);
}

/** Configs nested deeper than this are compact: indentation grows with the square of the depth. */
const deepest = 32;

function compactOf(config: TrainerConfig): string | null {
  try {
    return `${JSON.stringify(config)}\n`;
  } catch (cause) {
    if (cause instanceof RangeError) return null;
    throw cause;
  }
}

function depthOf(json: string): number {
  let depth = 0;
  let maxDepthSeen = 0;
  let inString = false;
  for (let at = 0; at < json.length; at += 1) {
    const char = json[at];
    if (char === '"') inString = !inString;
    else if (inString) at += char === '\\' ? 1 : 0;
    else if (char === '{' || char === '[') maxDepthSeen = Math.max(maxDepthSeen, (depth += 1));
    else if (char === '}' || char === ']') depth -= 1;
  }
  return maxDepthSeen;
}
