import { accept } from '../../../protocol/problem.ts';
import { templatesApi } from '../../../protocol/templates-api.ts';
import type { Orchestrator } from '../../orchestrator/index.ts';
import { actorOf } from './admin-routes.ts';
import { keepPrivate } from './config-routes.ts';
import { keyOf } from './idempotency.ts';
import { submittedReply, dryRunReply } from './queue-routes.ts';
import type { Router } from './route.ts';
import { sweepReply } from './run-routes.ts';

export function mountTemplateRoutes(router: Router, { jobs }: Pick<Orchestrator, 'jobs'>): void {
  router.answer(templatesApi.list, () => accept({ templates: [...jobs.listTemplates()] }));
  router.answer(templatesApi.get, ({ params, request }) => {
    keepPrivate(request);
    return jobs.getTemplate(params.template);
  });
  router.answer(templatesApi.create, ({ body, caller, request }) =>
    jobs.createTemplate(body, actorOf(caller, request)),
  );
  router.answer(templatesApi.replace, ({ params, body, caller, request }) =>
    jobs.replaceTemplate(params.template, body, actorOf(caller, request)),
  );
  router.answer(templatesApi.remove, ({ params, caller, request }) =>
    jobs.removeTemplate(params.template, actorOf(caller, request)),
  );
  router.answer(templatesApi.submit, async ({ params: { template: name }, body, caller, request }) => {
    const { idempotency_key: inBody, ...submission } = body;
    const key = keyOf(inBody, request, { ...submission, template: name });
    if (!key.ok) return key;
    const by = actorOf(caller, request);
    if (submission.dry_run) {
      const tried = await jobs.dryTemplate(name, submission, by);
      return tried.ok ? accept(dryRunReply(tried.value)) : tried;
    }
    const outcome = await jobs.submitTemplate(name, submission, by, key.value);
    return outcome.ok ? accept(submittedReply(outcome.value)) : outcome;
  });
  router.answer(templatesApi.sweep, async ({ params: { template: name }, body, caller, request }) => {
    const { idempotency_key: inBody, ...sweep } = body;
    const key = keyOf(inBody, request, { ...sweep, template: name });
    if (!key.ok) return key;
    const by = actorOf(caller, request);
    const outcome = sweep.dry_run
      ? await jobs.dryTemplateSweep(name, sweep, by)
      : await jobs.sweepTemplate(name, sweep, by, key.value);
    return outcome.ok ? accept(sweepReply(outcome.value, sweep.dry_run)) : outcome;
  });
}
