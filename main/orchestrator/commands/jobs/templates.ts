import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import type { SubmitRequest } from '../../../../protocol/queue-api.ts';
import type {
  NewTemplate,
  ReplacedTemplate,
  TemplateDetail,
  TemplateSubmit,
  TemplateView,
} from '../../../../protocol/template.ts';
import { isBuiltIn, trainerFor } from '../../../../trainers/index.ts';
import { type Core, recordTemplateEvent } from '../../core.ts';
import { type Actor, nameOf } from '../../model.ts';
import type { Configs, Template } from '../../ports/index.ts';
import { checkTemplate, filledSubmission, submissionOfJob, withBundle } from '../../rules/templates.ts';
import type { createSubmissions } from './submit.ts';
import type { IdempotencyKey } from './submission-keys.ts';

export const unknownTemplate = (name: string) =>
  refuse('template_not_found', `There is no template "${name}"`);

const maxTemplates = 500;

type Source = Pick<NewTemplate, 'submission' | 'job_id'>;
type Submissions = ReturnType<typeof createSubmissions>;

const viewOf = (
  core: Core,
  { configName, createdAt, createdBy, changedAt, changedBy, ...rest }: Template,
): TemplateView => ({
  ...rest,
  parameters: [...rest.parameters],
  config_name: configName,
  created_at: core.clock.iso(createdAt),
  created_by: createdBy,
  changed_at: core.clock.iso(changedAt),
  changed_by: changedBy,
});

/** Calls of users about job templates. */
export const createTemplateCalls = (core: Core, configs: Configs, submissions: Submissions) => ({
  ...createTemplateReads(core),
  ...createTemplateWrites(core, createPreparation(core, configs)),
  ...createTemplateSubmits(core, submissions),
});

function createTemplateReads(core: Core) {
  return {
    listTemplates: (): readonly TemplateView[] =>
      core.store.templates().map(template => viewOf(core, template)),

    getTemplate(name: string): Outcome<TemplateDetail> {
      const template = core.store.template(name);
      const submission = core.store.templateSubmission(name);
      if (template === null || submission === null) return unknownTemplate(name);
      return accept({ ...viewOf(core, template), submission });
    },
  };
}

/** A checked template, ready to be stored. */
interface Prepared {
  readonly template: Template;
  readonly submission: SubmitRequest;
}

type Prepare = (request: NewTemplate, by: Actor) => Promise<Outcome<Prepared>>;

function createPreparation(core: Core, configs: Configs): Prepare {
  /** Returns the submission with a copy of its config, so that later edits of the config do not change the template. */
  const selfContained = async ({ submission, job_id: jobId }: Source): Promise<Outcome<SubmitRequest>> => {
    if (jobId !== undefined) {
      const job = core.store.job(jobId);
      const payload = core.store.payload(jobId);
      if (job === null || payload === null) return refuse('job_not_found', `There is no job ${jobId}`);
      return accept(submissionOfJob(job, payload));
    }
    if (submission === undefined) return refuse('invalid_request', 'give either submission or job_id');
    if (submission.config_name === undefined || submission.config !== undefined) return accept(submission);
    const bundle = await configs.load(submission.config_name);
    return bundle.ok ? accept(withBundle(submission, bundle.value)) : bundle;
  };
  return async (request, by) => {
    const complete = await selfContained(request);
    const checked = complete.ok ? checkTemplate(complete.value, request.parameters) : complete;
    if (!checked.ok) return checked;
    const submission = checked.value;
    const { config = {} } = submission;
    const now = core.time.now();
    const template: Template = {
      name: request.name,
      description: request.description?.trim() ? request.description : null,
      configName: submission.config_name ?? null,
      trainer: isBuiltIn(config) ? null : trainerFor(config).name,
      parameters: request.parameters,
      revision: 1,
      createdAt: now,
      createdBy: nameOf(by),
      changedAt: now,
      changedBy: nameOf(by),
    };
    return accept({ template, submission });
  };
}

function createTemplateWrites(core: Core, prepare: Prepare) {
  return {
    async createTemplate(request: NewTemplate, by: Actor): Promise<Outcome<TemplateView>> {
      const prepared = await prepare(request, by);
      if (!prepared.ok) return prepared;
      const { template, submission } = prepared.value;
      return core.store.write(tx => {
        if (tx.template(template.name) !== null) return nameTaken(template.name);
        if (tx.countTemplates() >= maxTemplates)
          return refuse('invalid_request', `At most ${maxTemplates} templates`);
        tx.putTemplate(template, submission);
        recordTemplateEvent(core, tx, 'template.created', template, by);
        return accept(viewOf(core, template));
      });
    },

    async replaceTemplate(
      name: string,
      { revision, ...request }: ReplacedTemplate,
      by: Actor,
    ): Promise<Outcome<TemplateView>> {
      const prepared = await prepare(request, by);
      if (!prepared.ok) return prepared;
      const { template, submission } = prepared.value;
      return core.store.write(tx => {
        const old = tx.template(name);
        if (old === null) return unknownTemplate(name);
        if (revision !== undefined && revision !== old.revision) return changedMeanwhile(old);
        if (template.name !== name && tx.template(template.name) !== null) return nameTaken(template.name);
        const { createdAt, createdBy } = old;
        const next = { ...template, revision: old.revision + 1, createdAt, createdBy };
        if (next.name !== name) tx.removeTemplate(name);
        tx.putTemplate(next, submission);
        recordTemplateEvent(core, tx, 'template.replaced', next, by, { old_name: name });
        return accept(viewOf(core, next));
      });
    },

    removeTemplate: (
      name: string,
      by: Actor,
    ): Promise<Outcome<{ readonly success: true; readonly name: string }>> =>
      core.store.write(tx => {
        const template = tx.template(name);
        if (template === null) return unknownTemplate(name);
        tx.removeTemplate(name);
        recordTemplateEvent(core, tx, 'template.deleted', template, by);
        return accept({ success: true as const, name });
      }),
  };
}

const changedMeanwhile = ({ name, changedBy }: Template) =>
  refuse(
    'template_changed',
    `${changedBy} has changed the template "${name}" meanwhile: load it again, and repeat your change`,
  );

const nameTaken = (name: string) => refuse('name_taken', `There is a template "${name}" already`);

function createTemplateSubmits(core: Core, submissions: Submissions) {
  const fill = (name: string, request: TemplateSubmit): Outcome<SubmitRequest> => {
    const template = core.store.template(name);
    const submission = core.store.templateSubmission(name);
    if (template === null || submission === null) return unknownTemplate(name);
    return filledSubmission({ submission, parameters: template.parameters }, request);
  };
  return {
    /** Submits a job. For 24 hours, the same idempotency key returns the same job, even if the template has changed. */
    async submitTemplate(
      name: string,
      request: TemplateSubmit,
      by: Actor,
      idempotency: IdempotencyKey | null,
    ) {
      const earlier = submissions.earlier(by, idempotency);
      if (earlier !== null) return earlier;
      const filled = fill(name, request);
      return filled.ok ? submissions.submit(filled.value, by, idempotency, name) : filled;
    },

    async dryTemplate(name: string, request: TemplateSubmit, by: Actor) {
      const filled = fill(name, request);
      return filled.ok ? submissions.dryRun(filled.value, by) : filled;
    },
  };
}
