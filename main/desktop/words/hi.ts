import type { Words } from './en.ts';

const count = (text: string) => (n: number) => (n === 0 ? '' : `${n} ${text}`);

export const hi: Words = {
  thisComputer: 'यह कंप्यूटर',
  open: 'Trainyard खोलें',
  pause: 'कतार रोकें',
  resume: 'कतार फिर चलाएँ',
  quit: 'Trainyard बंद करें…',
  quitShort: 'बंद करें',
  cancel: 'रद्द करें',
  unreachable: 'पहुँच नहीं है',
  workersConnected: n => (n === 0 ? 'कोई वर्कर नहीं' : `${n} वर्कर`),
  jobsRunning: n => (n === 0 ? 'कोई जॉब नहीं चल रहा' : `${n} जॉब चल रहे हैं`),
  moreJobs: n => `${n} और…`,
  paused: 'कतार रुकी है',
  completed: count('जॉब पूरे'),
  failed: count('जॉब विफल'),
  lost: count('वर्कर अपने जॉब के साथ चुप'),
  several: 'फ़्लीट की गतिविधि',
  jobCompleted: 'जॉब पूरा हुआ',
  jobFailed: 'जॉब विफल हुआ',
  workerLost: name => `वर्कर ${name} ने जवाब देना बंद कर दिया`,
  jobOfWorker: job => `उसका जॉब: ${job}`,
  stillRunning: 'Trainyard चलता रहता है',
  stillRunningBody:
    'विंडो बंद है; ऑर्केस्ट्रेटर काम करता रहता है। घड़ी के पास उसके आइकन से विंडो फिर खुलती है, और वहीं से बंद किया जाता है।',
  quitQuestion: n => `${n} जॉब चल रहे हैं। फिर भी बंद करें?`,
  quitDetail:
    'वर्कर, इस कंप्यूटर पर भी, अपनी ट्रेनिंग जारी रखते हैं, और Trainyard के फिर चलने पर बताते हैं। तब तक प्रतीक्षा में खड़े जॉब नहीं भेजे जाते, ' +
    'और प्रगति नहीं दिखती।',
  portTaken: port => `पोर्ट ${port} किसी और प्रोग्राम के पास है`,
  portTakenDetail:
    'दूसरी मशीनों के वर्कर इस पोर्ट से जुड़ते हैं। वह प्रोग्राम बंद करके Trainyard फिर शुरू करें, या इस बार दूसरा पोर्ट लें।',
  otherPort: 'दूसरा पोर्ट लें',
  notStarted: 'ऑर्केस्ट्रेटर शुरू नहीं हो सकता',
  restored: 'डेटाबेस ख़राब था और उसकी जगह बैकअप लगाया गया। उस बैकअप के बाद के बदलाव खो गए हैं',
  menu: {
    file: 'फ़ाइल',
    edit: 'संपादन',
    view: 'दृश्य',
    fleet: 'फ़्लीट',
    window: 'विंडो',
    help: 'सहायता',
    closeWindow: 'विंडो बंद करें',
    newJob: 'नया जॉब',
    settings: 'सेटिंग्स…',
    overview: 'अवलोकन',
    workers: 'वर्कर',
    jobs: 'जॉब',
    queue: 'कतार',
    data: 'डेटा',
    audit: 'ऑडिट',
    keys: 'कीबोर्ड शॉर्टकट और सहायता',
    reload: 'फिर लोड करें',
    about: 'Trainyard के बारे में',
  },
};
