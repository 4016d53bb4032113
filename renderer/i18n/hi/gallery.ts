import type { GalleryKey } from '../en/gallery.ts';

export const gallery: Readonly<Record<GalleryKey, string>> = {
  'gallery.none':
    'अभी कोई नमूना नहीं है। कॉन्फ़िग में माँगने पर ट्रेनर ट्रेनिंग के दौरान नमूने की इमेज और वीडियो लिखते हैं। वर्कर उन्हें अपलोड करता है और वे यहाँ दिखते हैं।',
  'gallery.none.jobs': 'जॉब दिखाएँ',
  'gallery.summary':
    '{jobs, plural, one {# जॉब} other {# जॉब}} के {count, plural, one {# नमूना} other {# नमूने}}',
  'gallery.count': '{count, plural, one {# नमूना} other {# नमूने}}',
  'gallery.choose': 'तुलना के लिए {job} चुनें',
  'gallery.choose.hint': 'नमूने की तुलना के लिए अधिकतम चार जॉब चुनें।',
  'gallery.chosen': '{count, plural, one {# जॉब चुना गया} other {# जॉब चुने गए}}',
  'gallery.compare': 'नमूने की तुलना करें',
  'gallery.clear': 'चयन हटाएँ',
  'gallery.older': 'पुराने नमूने लोड करें',
  'gallery.back': 'सभी नमूने',
  'gallery.change': 'जॉब चुनें',
  'gallery.remove': '{job} हटाएँ',
  'gallery.comparison': 'प्रॉम्प्ट और जॉब के अनुसार नमूने',
  'gallery.unit': 'तुलना का आधार',
  'gallery.unit.step': 'स्टेप',
  'gallery.unit.epoch': 'ईपॉक',
  'gallery.none.before': 'इस स्टेप तक कोई नमूना नहीं है',
  'gallery.none.placed':
    'इन जॉब के नमूने की तुलना नहीं हो सकती, क्योंकि उनके नामों में स्टेप या ईपॉक नहीं है। उन्हें सभी नमूने में देखें।',
  'gallery.none.ofJobs': 'इन जॉब का अभी कोई नमूना नहीं है। अपलोड होने पर वे यहाँ दिखते हैं।',
  'gallery.unplaced':
    '{count, plural, one {# नमूना नहीं दिखाया गया, क्योंकि उसके नाम में ऐसा स्थान नहीं है।} other {# नमूने नहीं दिखाए गए, क्योंकि उनके नामों में ऐसा स्थान नहीं है।}}',
  'gallery.keys': 'कुंजियाँ: ← और → स्टेप बदलती हैं, F नमूने को फ़ुल स्क्रीन में दिखाती है।',
  'gallery.full.keys': 'कुंजियाँ: ← और → स्टेप बदलती हैं, ↑ और ↓ प्रॉम्प्ट, Esc बंद करती है।',
  'gallery.prompt': 'प्रॉम्प्ट {number, number}',
  'gallery.prompt.none': 'नमूना',
  'gallery.sample': '{job}, {prompt}, {place}',
  'gallery.previousStep': 'पिछला स्टेप',
  'gallery.nextStep': 'अगला स्टेप',
  'gallery.previousPrompt': 'पिछला प्रॉम्प्ट',
  'gallery.nextPrompt': 'अगला प्रॉम्प्ट',
};
