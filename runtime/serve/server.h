// Answers requests of the benchmark's line protocol, one JSON object a line:
//   {"cmd":"load","threads":1}                  -> {"ok":true,...}; of a model on OpenCL also
//                                                  "command_buffers":"auto", "always" or "never"
//   {"cmd":"inputs","files":{"NAME":"x.npy"}}   -> {"ok":true}
//   {"cmd":"run","seconds":1.0,"min_runs":3}    -> {"ms":[...]}   each run's time
//   {"cmd":"outputs","dir":"D"}                 -> {"files":{"NAME":"D/y.npy"}}
//   {"cmd":"info"}                              -> {"peak_bytes":n,...}
// A request that fails is answered by {"error":"..."}; then the next request is read.
#ifndef RULES_DNN_RUNTIME_SERVE_SERVER_H_
#define RULES_DNN_RUNTIME_SERVE_SERVER_H_

#include <string>

#include "runtime/serve/json.h"
#include "runtime/serve/session.h"

namespace rules_dnn::serve {

class Server {
 public:
  // `weights` is a path and `variant` the name of a chip; both may be empty (Session::Load).
  Server(const Description* description, std::string weights, std::string variant = "",
         DeviceChoice device = {})
      : session_(description),
        weights_(static_cast<std::string&&>(weights)),
        variant_(static_cast<std::string&&>(variant)),
        device_(static_cast<DeviceChoice&&>(device)) {}

  // Returns the answer to a request, both without line ends.
  std::string Answer(const std::string& request);

 private:
  // Each function writes the answer's members and returns an error, or an empty string.
  std::string Load(const Json& request, std::string* answer);
  std::string Inputs(const Json& request, std::string* answer);
  std::string Run(const Json& request, std::string* answer);
  std::string Values(const Json& request, std::string* answer);
  std::string Outputs(const Json& request, std::string* answer);
  std::string Info(const Json& request, std::string* answer);

  Session session_;
  std::string weights_, variant_;
  DeviceChoice device_;
};

}  // namespace rules_dnn::serve

#endif  // RULES_DNN_RUNTIME_SERVE_SERVER_H_
