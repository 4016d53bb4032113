import type { JoinKey } from '../en/join.ts';

export const join: Readonly<Record<JoinKey, string>> = {
  'effects.title': 'यह कमांड:',
  'effects.download':
    '{host} से वर्कर डाउनलोड करती है: {systems} के लिए {size}। दूसरे सिस्टम को Node 22.19 चाहिए, और वे {small} डाउनलोड करते हैं।',
  'effects.download.one': '{host} से वर्कर डाउनलोड करती है: {small}। मशीन पर Node 22.19 चाहिए।',
  'effects.pin': 'केवल इस कुंजी वाले सर्वर को स्वीकार करती है, और वर्कर का SHA-256 जाँचती है।',
  'effects.certificate': 'सर्वर का प्रमाणपत्र और वर्कर का SHA-256 जाँचती है।',
  'effects.hash':
    'स्क्रिप्ट और वर्कर का SHA-256 जाँचती है। कनेक्शन एन्क्रिप्टेड नहीं है। TLS (सेटिंग, नेटवर्क) के साथ कमांड बहुत छोटी होती है।',
  'effects.put': 'वर्कर को ~/.local/bin में रखती है। root की ज़रूरत नहीं।',
  'effects.put.service': 'वर्कर को sudo से /usr/local/bin में रखती है, या केवल आपके खाते के लिए ~/.local/bin में।',
  'effects.start': 'वर्कर को इसी टर्मिनल में शुरू करती है। Ctrl+C उसे रोकता है।',
  'effects.start.service': 'एक सेवा इंस्टॉल करती है, जो वर्कर को अभी और मशीन के हर रीस्टार्ट के बाद शुरू करती है।',
  'effects.installed': 'वहाँ पहले से इंस्टॉल वर्कर को शुरू करती है। कुछ डाउनलोड नहीं करती।',
  'effects.installed.service': 'वहाँ पहले से इंस्टॉल वर्कर के लिए सेवा इंस्टॉल करती है। कुछ डाउनलोड नहीं करती।',
  'windows.tab': 'Windows',
  'windows.start': 'इस PowerShell विंडो में, जब तक आप इसे बंद न करें या Ctrl+C न दबाएँ:',
  'windows.service': 'एक टास्क के रूप में, जो आपके हर लॉग-ऑन पर शुरू होता है:',
  'windows.run':
    'इनमें से एक पंक्ति PowerShell में चलाएँ। यह worker डाउनलोड करती है, और उसे तभी चलाती है जब उसका SHA-256 पंक्ति वाले से मेल खाए।',
  'windows.node':
    'इस सर्वर पर Windows के लिए कोई executable नहीं है, इसलिए मशीन पर Node 22.19 या नया चाहिए। उसे बनाने के लिए सर्वर के सोर्स फ़ोल्डर में “npm run build:worker -- --all-platforms” चलाएँ।',
  'windows.none':
    'इस सर्वर पर worker प्रोग्राम नहीं है। उसे बनाने के लिए सर्वर के सोर्स फ़ोल्डर में “npm run build:worker -- --all-platforms” चलाएँ।',
  'phone.open': 'इसे फ़ोन पर देखें',
  'phone.explain': 'उसी नेटवर्क के फ़ोन पर यह पैनल खोलने के लिए QR कोड स्कैन करें।',
  'phone.private': 'अभी कोई दूसरा डिवाइस इस सर्वर तक नहीं पहुँचता। इसे सेटिंग, नेटवर्क में साझा करें।',
  'phone.network': 'नेटवर्क सेटिंग खोलें',
  'phone.address': 'फ़ोन के लिए पता',
  'phone.show': 'QR कोड दिखाएँ',
  'phone.again': 'नया QR कोड',
  'phone.code': '{host} के साइन-इन लिंक का QR कोड',
  'phone.code.plain': 'पते {url} का QR कोड',
  'phone.until':
    '{time} तक, एक बार काम करता है। यह फ़ोन को {user} के रूप में, उन्हीं अनुमतियों के साथ साइन इन करता है। इसे किसी और को न दिखाएँ।',
  'phone.over': '{time} पर समाप्त हुआ।',
  'phone.token': 'उसके बाद फ़ोन टोकन माँगता है।',
  'phone.warning': 'फ़ोन का ब्राउज़र प्रमाणपत्र की चेतावनी देता है। तभी आगे बढ़ें जब वह यही फ़िंगरप्रिंट (SHA-256) दिखाए:',
  'phone.copy': 'साइन-इन लिंक कॉपी करें',
};
