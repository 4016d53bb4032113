import type { Database } from 'better-sqlite3';
import type { Template, TemplateReads, TemplateWrites } from '../../orchestrator/ports/index.ts';

type Submission = NonNullable<ReturnType<TemplateReads['templateSubmission']>>;

/** Job templates. `fact` is the whole template as JSON, without its submission. */
export function createTemplateRows(db: Database): TemplateReads & TemplateWrites {
  const all = db.prepare<[], string>('SELECT fact FROM templates ORDER BY name').pluck();
  const count = db.prepare<[], number>('SELECT count(*) FROM templates').pluck();
  const byName = db.prepare<[string], string>('SELECT fact FROM templates WHERE name = ?').pluck();
  const submission = db.prepare<[string], string>('SELECT submission FROM templates WHERE name = ?').pluck();
  const put = db.prepare<[string, string, string]>(
    `INSERT INTO templates (name, fact, submission) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET fact = excluded.fact, submission = excluded.submission`,
  );
  const remove = db.prepare<[string]>('DELETE FROM templates WHERE name = ?');
  return {
    templates: () => all.all().map(text => JSON.parse(text) as Template),
    countTemplates: () => count.get() ?? 0,
    template(name) {
      const text = byName.get(name);
      return text === undefined ? null : (JSON.parse(text) as Template);
    },
    templateSubmission(name) {
      const text = submission.get(name);
      return text === undefined ? null : (JSON.parse(text) as Submission);
    },
    putTemplate: (template, submissionOfTemplate) =>
      void put.run(template.name, JSON.stringify(template), JSON.stringify(submissionOfTemplate)),
    removeTemplate: name => void remove.run(name),
  };
}
