import type { InputsKey } from '../en/inputs.ts';

export const inputs: Readonly<Record<InputsKey, string>> = {
  'inputs.title': 'दूसरे जॉब की फ़ाइलें',
  'inputs.result': 'अंतिम मॉडल',
  'inputs.best': 'सबसे अच्छा चेकपॉइंट',
  'inputs.newest': 'सबसे नया चेकपॉइंट',
  'inputs.stateNewest': 'आगे जारी रखने के लिए नवीनतम स्थिति',
  'inputs.stateBest': 'आगे जारी रखने के लिए सर्वोत्तम स्थिति',
  'inputs.step': 'चरण {step} का चेकपॉइंट',
  'inputs.path': 'कोई और फ़ाइल या फ़ोल्डर',
  'inputs.pending': 'इस जॉब के शुरू होने पर चुना जाएगा',
  'inputs.missing': 'उस जॉब के पास ऐसी फ़ाइल नहीं है।',
  'inputs.gone': 'हटाया गया जॉब',
  'inputs.count': '{count, plural, one {# फ़ाइल} other {# फ़ाइलें}}, {size}',
  'inputs.add': '{name} की फ़ाइल लें',
  'inputs.file': '{name} की फ़ाइल',
  'inputs.where': 'फ़ाइल, फ़ोल्डर या चेकपॉइंट',
  'inputs.whereHint': 'जैसे samples/cat.png या checkpoint 500',
  'inputs.name': 'इनपुट का नाम',
  'inputs.remove': '{input} न लें',
  'inputs.hint': 'कॉन्फ़िगरेशन में {placeholder} इस फ़ाइल का पथ है।',
};
