import type { SubmitRequest } from '../../../protocol/queue-api.ts';
import type { TemplateParameter } from '../../../protocol/template.ts';
import type { WallMs } from '../model.ts';

/** A template as stored, without its submission. */
export interface Template {
  readonly name: string;
  readonly description: string | null;
  /** Null for a config without a name. */
  readonly configName: string | null;
  /** Null for a fleet test, which runs no trainer. */
  readonly trainer: string | null;
  readonly parameters: readonly TemplateParameter[];
  readonly revision: number;
  readonly createdAt: WallMs;
  readonly createdBy: string;
  readonly changedAt: WallMs;
  readonly changedBy: string;
}

export interface TemplateReads {
  /** Sorted by name. */
  templates(): readonly Template[];
  template(name: string): Template | null;
  /** Returns the submission of a template, with a copy of the config; null if there is no such template. */
  templateSubmission(name: string): SubmitRequest | null;
  countTemplates(): number;
}

export interface TemplateWrites {
  putTemplate(template: Template, submission: SubmitRequest): void;
  removeTemplate(name: string): void;
}
